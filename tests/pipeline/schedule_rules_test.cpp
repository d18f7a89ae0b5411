// SPDX-License-Identifier: MIT
// What holds for the schedule of every combination of loss, penalty, critic steps, interval and
// clipping.
#include <algorithm>
#include <functional>

#include <gtest/gtest.h>

#include "pipeline/schedule.hpp"

namespace gangway::pipeline {
namespace {

struct Case {
  JobSpec job;
  LocalMicrobatches local;
  std::int64_t step = 0;
};

void for_each_penalty(const std::function<void(const PenaltySpec&)>& body) {
  for (const double gradient_penalty : {0.0, 10.0}) {
    for (const double r1_gamma : {0.0, 1.0}) {
      for (const int interval : {1, 4}) {
        body({.gradient_penalty = gradient_penalty, .r1_gamma = r1_gamma, .r1_interval = interval});
      }
    }
  }
}

void for_each_layout(const JobSpec& job, const std::function<void(const Case&)>& body) {
  for (const LocalMicrobatches local :
       {LocalMicrobatches{0, 1}, LocalMicrobatches{1, 4}, LocalMicrobatches{2, 2}}) {
    for (const std::int64_t step : {0, 1, 4}) {
      body({job, local, step});
    }
  }
}

void for_each_case(const std::function<void(const Case&)>& body) {
  for (const LossKind loss : {LossKind::kNonsaturating, LossKind::kLeastSquares, LossKind::kHinge,
                              LossKind::kWasserstein, LossKind::kRelativistic}) {
    for_each_penalty([&](const PenaltySpec& penalty) {
      for (const int steps : {1, 3}) {
        for (const int clipping : {0, 1, 2, 3}) {
          JobSpec job;
          job.training.loss = loss;
          job.training.penalty = penalty;
          job.discriminator.steps = steps;
          job.discriminator.clip_norm = (clipping & 1) != 0 ? 1.0 : 0.0;
          job.generator.clip_norm = (clipping & 2) != 0 ? 1.0 : 0.0;
          for_each_layout(job, body);
        }
      }
    });
  }
}

std::vector<Instruction> schedule_of(const Case& test) {
  return one_stage_schedule(phases_of(test.job), test.local, test.step);
}

/// The schedule cut behind every update: one piece a repeat of a phase.
std::vector<std::vector<Instruction>> repeats_of(const std::vector<Instruction>& schedule) {
  std::vector<std::vector<Instruction>> pieces(1);
  for (const Instruction& instruction : schedule) {
    pieces.back().push_back(instruction);
    if (instruction.operation == Operation::kUpdate) {
      pieces.emplace_back();
    }
  }
  EXPECT_TRUE(pieces.back().empty()) << "something follows the last update";
  pieces.pop_back();
  return pieces;
}

std::size_t count(const std::vector<Instruction>& list, Operation operation) {
  return static_cast<std::size_t>(std::count_if(
      list.begin(), list.end(), [&](const Instruction& i) { return i.operation == operation; }));
}

TEST(ScheduleRules, EveryPhaseThatRunsEndsEachRepeatInOneUpdateOfItsNetwork) {
  for_each_case([](const Case& test) {
    const auto pieces = repeats_of(schedule_of(test));
    std::size_t at = 0;
    for (const Phase& phase : phases_of(test.job)) {
      for (int repeat = 0; runs_in(phase, test.step) && repeat < phase.repeats; ++repeat, ++at) {
        ASSERT_LT(at, pieces.size());
        EXPECT_EQ(pieces[at].back().network, phase.network);
        for (const Instruction& instruction : pieces[at]) {
          EXPECT_EQ(instruction.phase, phase.index);
          EXPECT_EQ(instruction.repeat, repeat);
        }
      }
    }
    EXPECT_EQ(at, pieces.size());
  });
}

TEST(ScheduleRules, EveryLeafIsOpenedAndClosedOnceAndHoldsAllWorkOfItsMicrobatch) {
  for_each_case([](const Case& test) {
    for (const auto& piece : repeats_of(schedule_of(test))) {
      int next = test.local.begin;
      bool open = false;
      for (const Instruction& instruction : piece) {
        if (instruction.operation == Operation::kOpenLeaf) {
          EXPECT_FALSE(open);
          EXPECT_EQ(instruction.microbatch, next);
          open = true;
        } else if (instruction.operation == Operation::kCloseLeaf) {
          EXPECT_TRUE(open);
          EXPECT_EQ(instruction.microbatch, next++);
          open = false;
        } else {
          EXPECT_EQ(open, instruction.microbatch == next) << describe(instruction);
        }
      }
      EXPECT_EQ(next, test.local.end);
      EXPECT_FALSE(open);
    }
  });
}

TEST(ScheduleRules, PassesComeInDeclaredOrderAndNoneIsLeftOut) {
  for_each_case([](const Case& test) {
    const std::vector<Phase> phases = phases_of(test.job);
    for (const auto& piece : repeats_of(schedule_of(test))) {
      std::vector<int> passes;
      for (const Instruction& instruction : piece) {
        if (instruction.operation == Operation::kOpenLeaf) {
          passes.clear();
        } else if (instruction.operation == Operation::kCloseLeaf) {
          EXPECT_EQ(passes.size(),
                    phases[static_cast<std::size_t>(instruction.phase)].passes.size());
          EXPECT_TRUE(std::is_sorted(passes.begin(), passes.end()));
        } else if (instruction.microbatch >= 0 &&
                   (passes.empty() || passes.back() != instruction.pass)) {
          passes.push_back(instruction.pass);
        }
      }
    }
  });
}

TEST(ScheduleRules, ReduceComesOnceAfterAllLeavesAndBeforeAgreeAndUpdate) {
  for_each_case([](const Case& test) {
    for (const auto& piece : repeats_of(schedule_of(test))) {
      ASSERT_EQ(count(piece, Operation::kReduce), 1U);
      const auto reduce = std::find_if(piece.begin(), piece.end(), [](const Instruction& i) {
        return i.operation == Operation::kReduce;
      });
      EXPECT_EQ(reduce->microbatch, -1);
      for (auto after = reduce + 1; after != piece.end(); ++after) {
        EXPECT_TRUE(after->operation == Operation::kAgree || after->operation == Operation::kUpdate)
            << describe(*after);
        EXPECT_EQ(after->network, reduce->network);
      }
    }
  });
}

TEST(ScheduleRules, OnlyANetworkThatIsClippedAgrees) {
  for_each_case([](const Case& test) {
    const std::vector<Phase> phases = phases_of(test.job);
    for (const auto& piece : repeats_of(schedule_of(test))) {
      const bool clips = phases[static_cast<std::size_t>(piece.back().phase)].clip_norm > 0.0;
      EXPECT_EQ(count(piece, Operation::kAgree), clips ? 1U : 0U);
    }
  });
}

TEST(ScheduleRules, APenaltysTwoInstructionsFollowEachOther) {
  for_each_case([](const Case& test) {
    const std::vector<Instruction> schedule = schedule_of(test);
    EXPECT_EQ(count(schedule, Operation::kPenaltyForward),
              count(schedule, Operation::kPenaltyBackward));
    for (std::size_t i = 0; i < schedule.size(); ++i) {
      if (schedule[i].operation != Operation::kPenaltyForward) {
        continue;
      }
      Instruction expected = schedule[i];
      expected.operation = Operation::kPenaltyBackward;
      ASSERT_LT(i + 1, schedule.size());
      EXPECT_EQ(schedule[i + 1], expected);
    }
  });
}

TEST(ScheduleRules, BackwardFollowsTheForwardOfItsPass) {
  for_each_case([](const Case& test) {
    const std::vector<Instruction> schedule = schedule_of(test);
    for (std::size_t i = 0; i < schedule.size(); ++i) {
      if (schedule[i].operation != Operation::kBackward) {
        continue;
      }
      Instruction forward = schedule[i];
      forward.operation = Operation::kForward;
      EXPECT_EQ(
          std::count(schedule.begin(), schedule.begin() + static_cast<std::ptrdiff_t>(i), forward),
          1)
          << describe(schedule[i]);
    }
  });
}

TEST(ScheduleRules, WorkersDifferOnlyInTheirMicrobatches) {
  // Joined in micro-batch order, the leaves of all workers are those of one worker that has
  // everything.
  for_each_case([](const Case& test) {
    const std::vector<Phase> phases = phases_of(test.job);
    const auto whole = repeats_of(one_stage_schedule(phases, {0, 4}, test.step));
    const auto left = repeats_of(one_stage_schedule(phases, {0, 3}, test.step));
    const auto right = repeats_of(one_stage_schedule(phases, {3, 4}, test.step));
    ASSERT_EQ(left.size(), whole.size());
    ASSERT_EQ(right.size(), whole.size());
    const auto leaves = [](const std::vector<Instruction>& piece) {
      std::vector<Instruction> result;
      std::copy_if(piece.begin(), piece.end(), std::back_inserter(result),
                   [](const Instruction& i) { return i.microbatch >= 0; });
      return result;
    };
    for (std::size_t i = 0; i < whole.size(); ++i) {
      std::vector<Instruction> joined = leaves(left[i]);
      const std::vector<Instruction> rest = leaves(right[i]);
      joined.insert(joined.end(), rest.begin(), rest.end());
      EXPECT_EQ(joined, leaves(whole[i]));
    }
  });
}

}  // namespace
}  // namespace gangway::pipeline
