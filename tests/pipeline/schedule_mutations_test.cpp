// SPDX-License-Identifier: MIT
// That schedules of all kinds compute the same, and that the validator lets nothing pass that does
// not: lists are changed at random, and what it finds nothing in has to end with the same weights.
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pipeline/stage_cases.hpp"
#include "tests/pipeline/symbolic_run.hpp"

namespace gangway::pipeline {
namespace {

TaskGraph graph_of(const Staged& staged) {
  WorkOptions options = work_options(staged.test.options);
  options.order = PassOrder::kFree;
  options.max_open_leaves = options.max_penalty_leaves = 0;
  return {staged.phases, staged.test.layout, staged.test.first_step, staged.test.num_steps,
          options};
}

FinalWeights weights_of(const Staged& staged) {
  return SymbolicRun(graph_of(staged), staged.schedule).run();
}

TEST(SchedulesOfAllKinds, ComputeTheSame) {
  for (const auto& [job_name, job] : adversarial_jobs()) {
    for (const auto& [layout_name, layout] : gan_layouts()) {
      FinalWeights first;
      for (const auto& [kind, options] : schedule_kinds()) {
        const FinalWeights weights =
            weights_of(Staged({.name = kind, .job = job, .layout = layout, .options = options}));
        ASSERT_TRUE(weights) << job_name << ", " << layout_name << ", " << kind;
        first = first ? first : weights;
        EXPECT_EQ(weights, first) << job_name << ", " << layout_name << ", " << kind;
      }
    }
  }
}

TEST(SchedulesOfAllKinds, ComputeTheSameWhoeverHasWhichMicrobatches) {
  for (const auto& [name, job] : adversarial_jobs()) {
    const auto weights = [&, &of = job](const Layout& layout) {
      return weights_of(Staged({.name = "", .job = of, .layout = layout}));
    };
    const FinalWeights one = weights(placed(Placement::kLoop, 1, 6, {1, 1}));
    ASSERT_TRUE(one);
    EXPECT_EQ(weights(groups_apart({1, 3}, 6, {1, 1})), one) << name;
    EXPECT_EQ(weights(groups_apart({3, 2}, 6, {1, 1})), one) << name;
    EXPECT_EQ(weights(replicated(placed(Placement::kLoop, 1, 1, {1, 1}), 4, 6)), one) << name;
  }
}

TEST(SchedulesOfAllKinds, ComputeTheSameWhereForwardRunsTwice) {
  const Layout layout = placed(Placement::kLoop, 3, 4, {3, 3});
  for (const auto& [name, job] : adversarial_jobs()) {
    const StageCase plain{.name = name, .job = job, .layout = layout};
    StageCase twice = plain;
    twice.options.recomputes = {{true, false, true}, {false, true, true}};
    const Staged staged(twice);
    EXPECT_THAT(staged.validator().violations(staged.schedule), ::testing::IsEmpty()) << name;
    EXPECT_EQ(weights_of(staged), weights_of(Staged(plain))) << name;
    EXPECT_TRUE(weights_of(staged)) << name;
  }
}

using Random = std::mt19937;

std::size_t below(Random& random, std::size_t end) { return random() % end; }

/// Changes some number of an instruction, most often one that it has.
void change(StageInstruction& one, Random& random, int num_workers) {
  switch (below(random, 8)) {
    case 0:
      one.peer = static_cast<int>(below(random, static_cast<std::size_t>(num_workers)));
      break;
    case 1:
      one.version += random() % 2 == 0 ? 1 : -1;
      break;
    case 2:
      one.microbatch += random() % 2 == 0 ? 1 : -1;
      break;
    case 3:
      one.bytes += 4;
      break;
    case 4:
      one.chunk += random() % 2 == 0 ? 1 : -1;
      break;
    case 5:
      one.keeps = !one.keeps;
      break;
    case 6:
      one.step += random() % 2 == 0 ? 1 : -1;
      break;
    default:
      one.operation =
          static_cast<StageOperation>(below(random, static_cast<std::size_t>(kNumStageOperations)));
  }
}

/// One random change. Returns its name.
std::string mutate(StageSchedule& schedule, Random& random) {
  StageList& list = schedule.workers[below(random, schedule.workers.size())];
  const std::size_t at = below(random, list.size());
  const auto place = list.begin() + static_cast<std::ptrdiff_t>(at);
  switch (below(random, 6)) {
    case 0:
      std::swap(list[at], list[(at + 1) % list.size()]);
      return "swap of neighbours";
    case 1:
      std::swap(list[at], list[below(random, list.size())]);
      return "swap";
    case 2:
      list.erase(place);
      return "drop";
    case 3: {
      const StageInstruction again = *place;
      list.insert(list.begin() + static_cast<std::ptrdiff_t>(below(random, list.size())), again);
      return "duplicate";
    }
    case 4: {
      const StageInstruction moved = *place;
      list.erase(place);
      StageList& other = schedule.workers[below(random, schedule.workers.size())];
      other.insert(other.begin() + static_cast<std::ptrdiff_t>(below(random, other.size() + 1)),
                   moved);
      return "move";
    }
    default:
      change(*place, random, static_cast<int>(schedule.workers.size()));
      return "change";
  }
}

TEST(Validator, LetsNoChangePassThatComputesSomethingElse) {
  constexpr int kMutations = 20;  // of each case
  Random random(7);               // the same in every run
  int rejected = 0;
  int passed = 0;
  for (const StageCase& test : stage_cases()) {
    const Staged staged(test);
    const ScheduleValidator validator = staged.validator();
    const TaskGraph graph = graph_of(staged);
    const FinalWeights weights = SymbolicRun(graph, staged.schedule).run();
    ASSERT_TRUE(weights) << test.name;
    for (int i = 0; i < kMutations; ++i) {
      StageSchedule changed = staged.schedule;
      const std::string mutation = mutate(changed, random);
      if (!validator.violations(changed).empty()) {
        ++rejected;
        continue;
      }
      ++passed;
      EXPECT_EQ(SymbolicRun(graph, changed).run(), weights) << test.name << ", " << mutation;
    }
  }
  EXPECT_GT(rejected, 1000);
  // Neighbours that nothing ties may be swapped.
  EXPECT_GT(passed, 0);
  EXPECT_LT(passed, rejected / 4);
  RecordProperty("rejected", rejected);
  RecordProperty("passed", passed);
}

}  // namespace
}  // namespace gangway::pipeline
