// SPDX-License-Identifier: MIT
#include "job/families/families.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/named_rows.hpp"

namespace gangway {
namespace {

using ::testing::StartsWith;

TEST(Families, AreWhole) {
  for (const ModelFamily& family : families()) {
    SCOPED_TRACE(family.name);
    EXPECT_EQ(family_named(family.name), &family);
    EXPECT_FALSE(family.doc.empty());
    EXPECT_EQ(family.resolutions.empty(), family.makes_points);
    EXPECT_TRUE(std::ranges::any_of(recipes(), [&family](const Recipe& recipe) {
      return missing_role(family, recipe).empty();
    }));
  }
  EXPECT_EQ(ModelSpec{}.family->name, "dcgan");
}

TEST(Families, AreNamedInMessages) {
  EXPECT_THAT(family_names(", ", &ModelFamily::makes_images), StartsWith("dcgan, infogan"));
  EXPECT_THAT(family_names(" or ", &ModelFamily::makes_points), StartsWith("mlp"));
}

}  // namespace
}  // namespace gangway
