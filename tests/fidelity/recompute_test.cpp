// SPDX-License-Identifier: MIT
// Recomputed activations give the same bits as kept ones.
#include <algorithm>

#include <gtest/gtest.h>

#include "job/layout/stage_cuts.hpp"
#include "tests/fidelity/beside_one_worker.hpp"

namespace gangway::fidelity {
namespace {

class EveryJobRecomputed : public BesideOneWorker,
                           public ::testing::WithParamInterface<std::size_t> {};

TEST_P(EveryJobRecomputed, HasTheSameBits) {
  NamedJob named = job_breadth(images())[GetParam()];
  JobSpec& job = named.job;
  job.layout.recompute = true;
  for (std::size_t turn : testing::turns(GetParam(), 12)) {
    JobSpec staged = job;
    staged.layout.stages = 2;
    const auto chunks = chunks_of(staged, staged.layout);
    const bool is_cut = std::ranges::any_of(chunks, [](const auto& one) { return one.size() > 1; });
    if (turn % 2 == 0 || !is_cut || job.scales_losses() || job.training.translation.pool > 0) {
      const int workers = 1 + static_cast<int>(turn / 2 % 2);
      expect_equal_bits({.job = job, .workers = workers, .end = named.steps});
      continue;
    }
    staged.layout.schedule = turn / 2 % 2 == 0 ? StageOrder::kFill : StageOrder::kZeroBubble;
    staged.layout.in_flight = static_cast<int>(turn / 2 % 3);
    expect_equal_bits({.job = staged, .workers = 2, .end = named.steps});
  }
}

INSTANTIATE_TEST_SUITE_P(Breadth, EveryJobRecomputed, every_small_job(), name_of_job);

}  // namespace
}  // namespace gangway::fidelity
