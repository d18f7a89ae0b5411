// SPDX-License-Identifier: MIT
#include "coordinator/resume/start_texts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "job/number_changes.hpp"

namespace gangway::coordinator {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Software = std::map<std::string, std::string>;

Software software_of_now() {
  return {{"gangway", "0.2.0"},
          {"libtorch", "2.11.0"},
          {std::string(kNumbersRevisionName), std::to_string(kNumbersRevision)}};
}

JobSpec labelled_pairs() {
  JobSpec job;
  job.training.loss = LossKind::kRelativistic;
  job.model.classes = 10;
  return job;
}

TEST(ChangeWarnings, AreNoneBehindACheckpointOfTheSameSoftwareAndData) {
  const Software now = software_of_now();
  const checkpoint::Manifest before{.data_fingerprint = "same", .software = now};
  const messages::Ready ready{.data_fingerprint = "same"};
  EXPECT_THAT(change_warnings({before, now, ready}, labelled_pairs()), IsEmpty());
}

TEST(ChangeWarnings, NameTheDataTheNumbersAndTheLibrariesThatHaveChanged) {
  const checkpoint::Manifest before{.data_fingerprint = "other",
                                    .software = {{"gangway", "0.2.0"}, {"libtorch", "2.10.0"}}};
  const messages::Ready ready{.data_fingerprint = "this"};
  EXPECT_THAT(change_warnings({before, software_of_now(), ready}, labelled_pairs()),
              ElementsAre(HasSubstr("the data have changed"),
                          AllOf(HasSubstr("numbers have changed"), HasSubstr("labels")),
                          HasSubstr("libtorch was 2.10.0")));
}

TEST(ChangeWarnings, NameAnotherLibTorchInOneLine) {
  const messages::Ready ready{.data_fingerprint = "same"};
  const auto with_libtorch = [](const std::string& version) {
    Software software = software_of_now();
    software["libtorch"] = version;
    software.merge(software_of({.bits = "1-aa", .facts = {{"libtorch", version}}}));
    return software;
  };
  const checkpoint::Manifest before{.data_fingerprint = "same", .software = with_libtorch("2.10")};
  EXPECT_THAT(change_warnings({before, with_libtorch("2.11"), ready}, labelled_pairs()),
              ElementsAre(HasSubstr("libtorch 2.11, not 2.10")));
}

}  // namespace
}  // namespace gangway::coordinator
