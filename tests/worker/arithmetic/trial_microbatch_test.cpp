// SPDX-License-Identifier: MIT
#include "worker/arithmetic/trial_microbatch.hpp"

#include <string>

#include <gtest/gtest.h>

#include "tests/campaign.hpp"
#include "tests/fidelity/small_jobs.hpp"

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
  std::size_t number = 0;
  for (const fidelity::NamedJob& named : fidelity::job_breadth(fidelity::tiny_images())) {
    SCOPED_TRACE(named.name);
    const std::string bits = bits_of(named.job);
    EXPECT_EQ(bits.size(), 34U);
    if (++number % 3 == 0 || testing::is_campaign()) {
      EXPECT_EQ(bits_of(named.job), bits);
    }
  }
}

}  // namespace
}  // namespace gangway::worker
