// SPDX-License-Identifier: MIT
// Activations that are made again for backward: one worker's bits, as if they had been kept.
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
  const Outcome& kept = trained_alone(job, named.steps);
  job.layout.recompute = true;
  const int workers = 1 + static_cast<int>(GetParam() % 2);
  const Outcome made_again =
      train({.job = job, .workers = workers, .end = named.steps}, next_folder());
  EXPECT_EQ(made_again.digest, kept.digest) << workers << " workers";
  EXPECT_TRUE(same_losses(made_again, kept)) << workers << " workers";
  job.layout.stages = 2;
  const auto chunks = chunks_of(job, job.layout);
  const bool is_cut = std::ranges::any_of(chunks, [](const auto& one) { return one.size() > 1; });
  if (is_cut && !job.scales_losses() && job.training.translation.pool == 0) {
    job.layout.schedule = GetParam() / 2 % 2 == 0 ? StageOrder::kFill : StageOrder::kZeroBubble;
    job.layout.in_flight = static_cast<int>(GetParam() % 3);
    const Outcome staged = train({.job = job, .workers = 2, .end = named.steps}, next_folder());
    EXPECT_EQ(staged.digest, kept.digest) << "two stages";
  }
}

INSTANTIATE_TEST_SUITE_P(Breadth, EveryJobRecomputed,
                         ::testing::Range(std::size_t{0}, named_jobs().size()),
                         [](const auto& instance) { return named_jobs()[instance.param].name; });

}  // namespace
}  // namespace gangway::fidelity
