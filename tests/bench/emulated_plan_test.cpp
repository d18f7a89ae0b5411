// SPDX-License-Identifier: MIT
// Emulated trainings of every shape of layout end, and take the time of their work.
#include <gtest/gtest.h>

#include "bench/plan/emulated_jobs.hpp"
#include "bench/plan/emulated_run.hpp"
#include "plan/stages/predict_stages.hpp"

namespace gangway::bench {
namespace {

constexpr double kQuick = 0.05;

TEST(EmulatedPlan, RunsEveryShapeOfLayout) {
  const PlanCase of{{"2 hosts of 2", 2, 2, 5e8}, 4, BlockShape::kDense};
  const auto planner = emulated_planner(of, kQuick);
  const plan::PlanInput input = planner->input();
  const plan::StagePlanner stages(input);
  std::vector<plan::Candidate> layouts = stages.candidates(4).layouts;
  ASSERT_GE(layouts.size(), 5U) << "apart, rows of two and one of four, in a loop and in a V";
  layouts.push_back(plan::StagePlanner::with_other_schedules(layouts.back()).back());
  for (const plan::Candidate& layout : layouts) {
    EXPECT_GE(emulated_step(input, input.costs.phases(), layout, 1).seconds,
              0.9 * stages.least_seconds(layout))
        << describe(layout);
  }
}

TEST(EmulatedPlan, TakesLongerWhereForwardsAreMadeAgain) {
  const auto planner = emulated_planner({{"one device", 1, 1}, 2, BlockShape::kEven}, kQuick);
  const plan::PlanInput input = planner->input();
  plan::Candidate again = plan::whole_candidate(input.job, 1);
  again.choice.recompute = true;
  EXPECT_GE(emulated_step(input, input.costs.phases(), again, 1).seconds,
            0.99 * plan::predict(input, again).parts.compute);
}

}  // namespace
}  // namespace gangway::bench
