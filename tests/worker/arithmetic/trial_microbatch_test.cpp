// SPDX-License-Identifier: MIT
#include "worker/arithmetic/trial_microbatch.hpp"

#include <string>

#include <gtest/gtest.h>

#include "tests/fidelity/small_jobs.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::worker {
namespace {

std::string bits_of(const JobSpec& job) {
  CpuDevice device(job);
  return trial_bits(job, device);
}

TEST(TrialMicrobatch, HasTheSameBitsAgainAndOthersForAnotherJob) {
  JobSpec job = fidelity::small_mlp();
  const std::string bits = bits_of(job);
  EXPECT_EQ(bits_of(job), bits);
  EXPECT_EQ(bits.substr(0, 2), "1-");
  EXPECT_EQ(bits.size(), 34U);
  job.training.seed += 1;
  EXPECT_NE(bits_of(job), bits);
}

TEST(TrialMicrobatch, DoesNotDependOnHowMuchOfTheJobThereIs) {
  JobSpec job = fidelity::small_mlp();
  const std::string bits = bits_of(job);
  job.training.microbatches = 2;
  job.layout.data = 2;
  job.layout.recompute = true;
  EXPECT_EQ(bits_of(job), bits);
}

TEST(TrialMicrobatch, IsThereForEveryKindOfJob) {
  const testing::ScratchFolder folder;
  fidelity::write_tiny_images(folder.path());
  for (const fidelity::NamedJob& named : fidelity::job_breadth(folder.path())) {
    SCOPED_TRACE(named.name);
    EXPECT_EQ(bits_of(named.job), bits_of(named.job));
  }
}

}  // namespace
}  // namespace gangway::worker
