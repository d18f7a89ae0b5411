// SPDX-License-Identifier: MIT
// What generated orders keep to, and what that costs. Bubbles of all kinds are compared with the
// reference in simulated_bubbles_test.cpp.
#include "pipeline/staged/generators.hpp"

#include <algorithm>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/staged/work_seconds.hpp"
#include "tests/pipeline/gan_profile.hpp"
#include "tests/pipeline/stage_cases.hpp"

namespace gangway::pipeline {
namespace {

int peak_leaves(const Simulation& simulation) {
  return std::ranges::max(simulation.workers, {}, &SimulatedWorker::peak_leaves).peak_leaves;
}

TEST(Generators, FillALoopWhereMicrobatchesAreTwiceTheWorkers) {
  for (const int workers : {2, 4, 8}) {
    const GanCase test{.workers = workers, .microbatches = 2 * workers};
    EXPECT_LT(simulated(test, {}).bubble(), 0.0005) << workers;
    EXPECT_LT(simulated(test, {.max_open_leaves = 1}).bubble(), 0.0005) << workers;
  }
}

TEST(Generators, KeepOneLeafAChunkOpen) {
  // Real and fake passes are far apart unless a leaf's gradients wait for each other: up to M.
  const GanCase test{.workers = 8, .microbatches = 8};
  EXPECT_EQ(peak_leaves(simulated(test, {})), 8);
  const Simulation one = simulated(test, {.max_open_leaves = 1});
  EXPECT_EQ(peak_leaves(one), 2) << "of the generator's chunk and of the discriminator's";
  EXPECT_NEAR(one.bubble(), 0.058, 0.001) << "5.0 % with any number";
}

TEST(Generators, NameLeavesThatTheValidatorCounts) {
  for (const auto& [name, layout] : gan_layouts()) {
    const Staged staged(
        {.name = name, .job = JobSpec{}, .layout = layout, .options = {.max_open_leaves = 1}});
    EXPECT_THAT(staged.validator().violations(staged.schedule, {.max_open_leaves = 1}),
                ::testing::IsEmpty())
        << name;
  }
}

TEST(Generators, GoOnWhereFewerForwardsAreAllowedThanItTakes) {
  for (const int max_stored : {1, 2, 3}) {
    const Simulation simulation = simulated({}, {.max_stored = max_stored});
    EXPECT_GT(simulation.bubble(), 0.05);
    EXPECT_LT(peak_stored(simulation), 24) << "which it is with any number";
  }
}

/// Share of the time of 32 steps in the middle that a loop does not compute.
double bubble_with_penalty(const GanCase& test, int interval, const ScheduleOptions& options) {
  constexpr int kSteps = 35;
  JobSpec job;
  job.training.penalty = {.r1_gamma = 1.0, .r1_interval = interval};
  const Layout layout = gan_layout(test.place, test.workers, test.microbatches);
  Costs costs = gan_costs(layout);
  for (std::vector<WorkCosts>& chunks : costs.chunks) {
    for (WorkCosts& of : chunks) {
      of.sweep_seconds = {of.forward_seconds, of.input_gradient_seconds,
                          of.forward_seconds + of.weight_gradient_seconds,
                          of.input_gradient_seconds + of.weight_gradient_seconds};
    }
  }
  const StageSchedule schedule =
      stage_schedule(gan::adversarial_phases(job), layout, 0, kSteps, costs, options);
  const Simulation simulation = simulate(schedule, costs);
  double work = 0.0;
  for (int worker = 0; worker < layout.num_workers; ++worker) {
    for (const StageInstruction& what : schedule.workers[static_cast<std::size_t>(worker)]) {
      work += what.step >= 2 && what.step < kSteps - 1 ? seconds_of(what, worker, costs) : 0.0;
    }
  }
  const double span = simulation.step_ends[kSteps - 2] - simulation.step_ends[1];
  return 1.0 - work / layout.num_workers / span;
}

TEST(Generators, FillWithLazyPenaltiesToo) {
  const GanCase small{.workers = 4, .microbatches = 8};
  const GanCase large{.workers = 8, .microbatches = 16};
  EXPECT_LT(bubble_with_penalty(small, 16, {}), 0.005);
  EXPECT_LT(bubble_with_penalty(large, 16, {}), 0.009);
  EXPECT_LT(bubble_with_penalty(small, 4, {}), 0.010);
  // A penalty's leaves are open through all chunks and back: one at a time is dear.
  EXPECT_LT(bubble_with_penalty(small, 4, {.max_open_leaves = 1}), 0.010);
  EXPECT_GT(bubble_with_penalty(small, 4, {.max_open_leaves = 1, .max_penalty_leaves = 1}), 0.10);
}

TEST(Generators, MakeTheSameListsAgain) {
  const StageCase test{
      .name = "again", .job = JobSpec{}, .layout = placed(Placement::kLoop, 3, 4, {3, 3})};
  EXPECT_EQ(Staged(test).schedule, Staged(test).schedule);
}

TEST(Generators, OverlapUnequalGroups) {
  // One worker generates for three: what it makes for the discriminators' phase goes ahead of them.
  const Layout layout = groups_apart({1, 3}, 6, {1, 1});
  Costs costs = gan_costs(layout);
  const auto phases = gan::adversarial_phases(JobSpec{});
  const auto seconds = [&](const ScheduleOptions& options) {
    return simulate(stage_schedule(phases, layout, 0, 8, costs, options), costs).step_seconds();
  };
  EXPECT_LT(seconds({}), 0.9 * seconds({.policy = SchedulePolicy::kByPass}));
}

}  // namespace
}  // namespace gangway::pipeline
