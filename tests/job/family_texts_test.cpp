// SPDX-License-Identifier: MIT
#include "job/keys/family_texts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "job/families/families.hpp"
#include "tests/named_rows.hpp"

namespace gangway {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(FamilyTexts, ComeFromTheTable) {
  EXPECT_THAT(family_docs(), StartsWith("- `dcgan`: convolutions"));
  EXPECT_THAT(family_docs(), HasSubstr("\n- `infogan`: the networks of Lucic et al. (2018)"));
  EXPECT_THAT(allowed_resolutions(), StartsWith("32 or 64 for dcgan, 28 for infogan"));
  EXPECT_THAT(default_resolutions(), StartsWith("28 for infogan, "));
}

TEST(FamilyTexts, RefuseLabelsWhereAFamilyTakesNone) {
  ModelFamily blind = *family_named("dcgan");
  blind.name = "blind";
  blind.takes_labels = false;
  JobSpec job;
  EXPECT_EQ(refuse_unless_labels(job), "");
  job.model.family = &blind;
  EXPECT_EQ(refuse_unless_labels(job),
            "has no meaning for family blind, which takes no labels; leave it out");
}

TEST(FamilyTexts, RefuseWhatTheRowDoesNotName) {
  JobSpec job;
  EXPECT_EQ(refuse_unless_taken("model.dropout", job), "");
  EXPECT_EQ(refuse_unless_taken("model.patch", job),
            "has no meaning for family dcgan (it has for gat); leave it out");
  job.model.family = family_named("gat");
  EXPECT_EQ(refuse_unless_taken("model.patch", job), "");
  EXPECT_EQ(refuse_unless_taken("model.dropout", job),
            "has no meaning for family gat (it has for dcgan, infogan, dense, mlp); leave it out");
  job.model.family = own_family();
  EXPECT_THAT(refuse_unless_taken("model.dropout", job), testing::HasSubstr("networks are yours"));
}

}  // namespace
}  // namespace gangway
