// SPDX-License-Identifier: MIT
#include "job/number_changes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "job/families/families.hpp"
#include "tests/named_rows.hpp"

namespace gangway {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Software = std::map<std::string, std::string>;
const Software kOlder{{"gangway", "0.1.0"}};

/// Returns a job without convolutions.
JobSpec dense() {
  JobSpec job;
  job.model.family = family_named("mlp");
  return job;
}

TEST(NumberChanges, AreNoneOfAJobThatNoneTouches) {
  EXPECT_THAT(number_changes_since(kOlder, dense()), IsEmpty());
}

TEST(NumberChanges, AreToldOfJobsThatTheyTouch) {
  JobSpec pairs = dense();
  pairs.training.loss = LossKind::kRelativistic;
  EXPECT_THAT(number_changes_since(kOlder, pairs), IsEmpty());
  pairs.model.classes = 10;
  EXPECT_THAT(number_changes_since(kOlder, pairs), ElementsAre(HasSubstr("labels")));
  JobSpec lengths;
  lengths.model.family = family_named("stylegan2");
  lengths.network("generator").ema_kimg = 10.0;
  lengths.training.path_length.weight = 2.0;
  EXPECT_THAT(number_changes_since(kOlder, lengths),
              ElementsAre(HasSubstr("once a step"), HasSubstr("convolutions")));
  lengths.training.path_length.interval = 1;  // one update a step
  EXPECT_THAT(number_changes_since(kOlder, lengths), ElementsAre(HasSubstr("convolutions")));
  JobSpec adaptive = dense();
  adaptive.training.augment.policy = AugmentPolicy::kAda;
  EXPECT_THAT(number_changes_since(kOlder, adaptive),
              ElementsAre(HasSubstr("above 1"), HasSubstr("one strength")));
  JobSpec own = dense();
  own.network("generator").module.file = "nets.py";
  own.network("generator").module.python_class = "Generator";
  EXPECT_THAT(number_changes_since(kOlder, own),
              ElementsAre(HasSubstr("Gangway's kernels"), HasSubstr("convolutions")));
  own.numerics.kernels = KernelChoice::kPytorch;
  EXPECT_THAT(number_changes_since(kOlder, own), IsEmpty());
}

TEST(NumberChanges, AreToldOfPenaltiesThatComputeInTf32) {
  JobSpec job = dense();
  job.numerics.device = DeviceKind::kCuda;
  job.training.penalty.r1_gamma = 1.0;
  EXPECT_THAT(number_changes_since(kOlder, job), IsEmpty()) << "all of it is in fp32";
  job.network("discriminator").precision = Precision::kBf16;
  EXPECT_THAT(number_changes_since(kOlder, job),
              ElementsAre(HasSubstr("numerics.penalties=fp32 keeps the old numbers")));
  JobSpec other = job;
  other.numerics.device = DeviceKind::kCpu;
  EXPECT_THAT(number_changes_since(kOlder, other), IsEmpty());
  other = job;
  other.numerics.penalties = Precision::kFp32;
  EXPECT_THAT(number_changes_since(kOlder, other), IsEmpty());
  other = job;
  other.training.penalty.r1_gamma = 0.0;
  EXPECT_THAT(number_changes_since(kOlder, other), IsEmpty());
  other.training.path_length = {.weight = 1.0, .interval = 1};
  EXPECT_THAT(number_changes_since(kOlder, other), IsEmpty()) << "the generator is in fp32";
  other.network("generator").precision = Precision::kTf32;
  EXPECT_THAT(number_changes_since(kOlder, other), ElementsAre(HasSubstr("in TF32")));
}

TEST(NumberChanges, AreToldOfConvolutionsOnCpus) {
  JobSpec pictures;
  pictures.model.family = family_named("dcgan");
  const auto changes = [&] { return number_changes_since(kOlder, pictures); };
  EXPECT_THAT(changes(), ElementsAre(HasSubstr("another order")));
  pictures.numerics.device = DeviceKind::kCuda;
  EXPECT_THAT(changes(), IsEmpty());
}

TEST(NumberChanges, AreNoneSinceTheRevisionThatIs) {
  JobSpec pairs = dense();
  pairs.training.loss = LossKind::kRelativistic;
  pairs.model.classes = 10;
  Software now = kOlder;
  now[std::string(kNumbersRevisionName)] = std::to_string(kNumbersRevision);
  EXPECT_THAT(number_changes_since(now, pairs), IsEmpty());
  now[std::string(kNumbersRevisionName)] = "damaged";
  EXPECT_THAT(number_changes_since(now, pairs), ElementsAre(HasSubstr("labels")));
}

}  // namespace
}  // namespace gangway
