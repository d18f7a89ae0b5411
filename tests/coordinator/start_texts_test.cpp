// SPDX-License-Identifier: MIT
#include "coordinator/resume/start_texts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "job/families/families.hpp"
#include "job/number_changes.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::coordinator {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Software = std::map<std::string, std::string>;

constexpr std::string_view kSaved = "the checkpoint was saved";

Software software_of_now() {
  return {{"gangway", "0.2.0"},
          {"libtorch", "2.11.0"},
          {std::string(kNumbersRevisionName), std::to_string(kNumbersRevision)}};
}

JobSpec labelled_pairs() {
  JobSpec job;
  job.model.family = family_named("mlp");  // without convolutions, which would be told of too
  job.training.loss = LossKind::kRelativistic;
  job.model.classes = 10;
  return job;
}

TEST(ChangeWarnings, AreNoneBehindACheckpointOfTheSameSoftwareAndData) {
  const Software now = software_of_now();
  const checkpoint::Manifest before{.data_fingerprint = "same", .software = now};
  const messages::Ready ready{.data_fingerprint = "same"};
  EXPECT_THAT(change_warnings({before, kSaved}, now, ready, labelled_pairs()), IsEmpty());
}

TEST(ChangeWarnings, NameTheDataTheNumbersAndTheLibrariesThatHaveChanged) {
  const checkpoint::Manifest before{.data_fingerprint = "other",
                                    .software = {{"gangway", "0.2.0"}, {"libtorch", "2.10.0"}}};
  const messages::Ready ready{.data_fingerprint = "this"};
  EXPECT_THAT(change_warnings({before, kSaved}, software_of_now(), ready, labelled_pairs()),
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
  EXPECT_THAT(change_warnings({before, kSaved}, with_libtorch("2.11"), ready, labelled_pairs()),
              ElementsAre(HasSubstr("libtorch 2.11, not 2.10")));
}

TEST(StateBefore, IsOfTheCheckpointOrOfASnapshotByTheStartBefore) {
  const gangway::testing::ScratchFolder folder;
  StartedRun run{.spec = labelled_pairs(),
                 .job_yaml = {},
                 .directory = folder.path(),
                 .lock = RunLock(folder.path())};
  EXPECT_FALSE(state_before(run, 0));
  run.resume = checkpoint::Found{.path = "step-4", .step = 4, .manifest = {.step = 4}};
  run.start = {.run_id = {},
               .incarnation = 3,
               .data_fingerprint = "same",
               .software = software_of({.bits = "1-aa", .facts = {{"flags", "avx2"}}})};
  EXPECT_EQ(state_before(run, 4)->since, kSaved);
  EXPECT_THAT(state_before(run, 4)->manifest.software, IsEmpty());
  const auto snapshot = state_before(run, 8);
  const messages::Ready ready{.data_fingerprint = "same",
                              .arithmetic = {.bits = "1-bb", .facts = {{"flags", "sse4_1"}}}};
  const Software now = software_now(ready, snapshot);
  EXPECT_THAT(change_warnings(*snapshot, now, ready, run.spec),
              ::testing::Contains(AllOf(HasSubstr("computes other bits than its state"),
                                        HasSubstr("flags with sse4_1 without avx2"))));
  EXPECT_EQ(now.at(std::string(checkpoint::kArithmeticChanges)), "8");
}

}  // namespace
}  // namespace gangway::coordinator
