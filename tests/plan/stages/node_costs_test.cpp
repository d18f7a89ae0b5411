// SPDX-License-Identifier: MIT
#include "plan/node_costs.hpp"

#include <algorithm>
#include <variant>

#include <gtest/gtest.h>

#include "gan/recipes/recipes.hpp"
#include "tests/plan/sample_plan.hpp"

namespace gangway::plan {
namespace {

/// Returns the total cost of the instructions of one kind of node.
NodeCost sum_of_penalties(const StagedJob& staged, const BlockCosts::Table& table) {
  NodeCost sum;
  for (std::size_t phase = 0; phase < staged.phases.size(); ++phase) {
    for (std::size_t pass = 0; pass < staged.phases[phase].passes.size(); ++pass) {
      const auto& nodes = staged.phases[phase].passes[pass].nodes;
      for (std::size_t node = 0; node < nodes.size(); ++node) {
        if (std::holds_alternative<pipeline::Penalty>(nodes[node])) {
          const NodeCost& cost = table[phase][pass][node];
          sum.forward_seconds += cost.forward_seconds;
          sum.backward_seconds += cost.backward_seconds;
          sum.kept_bytes += cost.kept_bytes;
          sum.output_bytes += cost.output_bytes;
        }
      }
    }
  }
  return sum;
}

Profile with_dear_penalties(Profile profile) {
  for (auto& one : profile.instructions) {
    if (one.operation == pipeline::Operation::kPenaltyForward) {
      one.time.seconds = 0.004;
    } else if (one.operation == pipeline::Operation::kPenaltyBackward) {
      one.time.seconds = 0.008;
    }
  }
  return profile;
}

TEST(BlockCosts, PartsOfAPenaltyCostWhatItCostsInOne) {
  const JobSpec job = sample_job(4, {"training.r1.gamma=1"});
  const Profile profile = with_dear_penalties(sample_profile(job));
  const std::vector<pipeline::Phase> phases = gan::phases_of(job);
  const BlockCosts costs(job, profile, phases);
  const StagedJob whole = staged_job(job, phases, sample_whole(1));
  const StagedJob cut = staged_job(job, phases, sample_stages(2));
  const NodeCost in_one = sum_of_penalties(whole, costs.table(whole));
  const NodeCost in_parts = sum_of_penalties(cut, costs.table(cut));
  EXPECT_DOUBLE_EQ(in_one.forward_seconds, 0.004);
  EXPECT_DOUBLE_EQ(in_parts.forward_seconds, in_one.forward_seconds);
  EXPECT_DOUBLE_EQ(in_one.backward_seconds, 0.008);
  EXPECT_DOUBLE_EQ(in_parts.backward_seconds, in_one.backward_seconds);
  EXPECT_EQ(in_parts.kept_bytes, in_one.kept_bytes);
  EXPECT_EQ(in_one.output_bytes, 0);
  EXPECT_EQ(in_parts.output_bytes, 2 * 500);  // a block's output, and its gradient
}

TEST(BlockCosts, WhatFollowsAPenaltyThatIsCutCostsWhatItDidBefore) {
  JobSpec job = sample_job(4, {"training.loss=wasserstein"});
  const Profile profile = sample_profile(job);
  const std::vector<pipeline::Phase> phases = gan::phases_of(job);
  const BlockCosts costs(job, profile, phases);
  const auto seconds = [&](const Candidate& layout) {
    const StagedJob staged = staged_job(job, phases, layout);
    double sum = 0.0;
    for (const auto& passes : costs.table(staged)) {
      for (const auto& nodes : passes) {
        for (const NodeCost& cost : nodes) {
          sum += cost.forward_seconds + cost.backward_seconds;
        }
      }
    }
    return sum;
  };
  EXPECT_NEAR(seconds(sample_stages(2)), seconds(sample_whole(1)), 1e-12);
}

}  // namespace
}  // namespace gangway::plan
