// SPDX-License-Identifier: MIT
// Properties of the schedule for every combination of loss, penalty, critic steps, interval and
// overlap.
#include <algorithm>
#include <array>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gan/recipes/adversarial.hpp"
#include "pipeline/stages/stage_schedule.hpp"
#include "tests/adversarial_networks.hpp"

namespace gangway::pipeline {
namespace {

struct Case {
  JobSpec job;
  MicrobatchRange local;
  std::int64_t step = 0;
  Overlap overlap = Overlap::kNone;
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
  for (const MicrobatchRange local :
       {MicrobatchRange{0, 1}, MicrobatchRange{1, 4}, MicrobatchRange{2, 2}}) {
    for (const std::int64_t step : {0, 1, 4}) {
      for (const Overlap overlap : {Overlap::kNone, Overlap::kWithin, Overlap::kAcross}) {
        body({job, local, step, overlap});
      }
    }
  }
}

void for_each_case(const std::function<void(const Case&)>& body) {
  for (const LossKind loss : {LossKind::kNonsaturating, LossKind::kLeastSquares, LossKind::kHinge,
                              LossKind::kWasserstein, LossKind::kRelativistic}) {
    for_each_penalty([&](const PenaltySpec& penalty) {
      for (const int steps : {1, 3}) {
        JobSpec job;
        job.training.loss = loss;
        job.training.penalty = penalty;
        job.network("discriminator").steps = steps;
        for_each_layout(job, body);
      }
    });
  }
}

std::vector<Instruction> schedule_of(const Case& test) {
  return one_stage_schedule(gan::adversarial_phases(test.job), test.local, test.step, test.overlap);
}

/// Returns the schedule without waits, cut after every exchange: one piece per repeat of a phase.
std::vector<std::vector<Instruction>> repeats_of(const std::vector<Instruction>& schedule) {
  std::vector<std::vector<Instruction>> pieces(1);
  for (const Instruction& instruction : schedule) {
    if (instruction.operation == Operation::kAwait) {
      continue;
    }
    pieces.back().push_back(instruction);
    if (instruction.operation == Operation::kReduce) {
      pieces.emplace_back();
    }
  }
  EXPECT_TRUE(pieces.back().empty()) << "something follows the last exchange";
  pieces.pop_back();
  return pieces;
}

std::size_t count(const std::vector<Instruction>& list, Operation operation) {
  return static_cast<std::size_t>(std::count_if(
      list.begin(), list.end(), [&](const Instruction& i) { return i.operation == operation; }));
}

TEST(ScheduleRules, EveryPhaseThatRunsEndsEachRepeatInOneExchangeOfItsNetwork) {
  for_each_case([](const Case& test) {
    const auto pieces = repeats_of(schedule_of(test));
    std::size_t at = 0;
    for (const Phase& phase : gan::adversarial_phases(test.job)) {
      for (int repeat = 0; runs_in(phase, test.step) && repeat < phase.repeats; ++repeat, ++at) {
        ASSERT_LT(at, pieces.size());
        EXPECT_THAT(phase.networks, ::testing::ElementsAre(pieces[at].back().network));
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
          EXPECT_EQ(open, instruction.microbatch == next) << describe(instruction, kNetworkNames);
        }
      }
      EXPECT_EQ(next, test.local.end);
      EXPECT_FALSE(open);
    }
  });
}

TEST(ScheduleRules, PassesComeInDeclaredOrderAndNoneIsLeftOut) {
  for_each_case([](const Case& test) {
    const std::vector<Phase> phases = gan::adversarial_phases(test.job);
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

TEST(ScheduleRules, NothingUsesANetworkWhoseExchangeIsUnderWay) {
  for_each_case([](const Case& test) {
    std::array<bool, 2> under_way{};
    if (test.overlap == Overlap::kAcross) {
      under_way = {true, true};  // the step before may have left both updates under way
    }
    for (const Instruction& instruction : schedule_of(test)) {
      bool& network = under_way.at(static_cast<std::size_t>(instruction.network));
      if (instruction.operation == Operation::kAwait) {
        EXPECT_TRUE(network) << "a wait for nothing: " << describe(instruction, kNetworkNames);
        network = false;
      } else {
        EXPECT_FALSE(network) << describe(instruction, kNetworkNames);
      }
      network = network || instruction.operation == Operation::kReduce;
    }
    if (test.overlap != Overlap::kAcross) {
      EXPECT_FALSE(under_way[0] || under_way[1]);
    }
  });
}

TEST(ScheduleRules, ArmsOnceAPhaseRightBeforeTheBackwardThatCompletesItsNetwork) {
  for_each_case([](const Case& test) {
    const std::vector<Phase> phases = gan::adversarial_phases(test.job);
    for (const auto& piece : repeats_of(schedule_of(test))) {
      const bool arms = test.overlap != Overlap::kNone && test.local.begin < test.local.end;
      ASSERT_EQ(count(piece, Operation::kArm), arms ? 1U : 0U);
      for (std::size_t i = 0; i < piece.size(); ++i) {
        if (piece[i].operation != Operation::kArm) {
          continue;
        }
        EXPECT_TRUE(trains(phases[static_cast<std::size_t>(piece[i].phase)], piece[i].network));
        EXPECT_EQ(piece[i].microbatch, test.local.end - 1);
        ASSERT_EQ(i + 4, piece.size());  // backward, close, reduce
        EXPECT_EQ(piece[i + 1].network, piece[i].network);
        EXPECT_TRUE(piece[i + 1].operation == Operation::kBackward ||
                    piece[i + 1].operation == Operation::kPenaltyBackward);
      }
    }
  });
}

TEST(ScheduleRules, MarksTheLastUpdateOfEachNetworkAndNoOther) {
  for_each_case([](const Case& test) {
    const auto pieces = repeats_of(schedule_of(test));
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const NetworkId network = pieces[i].back().network;
      const bool is_last =
          std::none_of(pieces.begin() + static_cast<std::ptrdiff_t>(i) + 1, pieces.end(),
                       [&](const auto& later) { return later.back().network == network; });
      for (const Instruction& instruction : pieces[i]) {
        const bool updates =
            instruction.operation == Operation::kArm || instruction.operation == Operation::kReduce;
        EXPECT_EQ(instruction.is_last_update, updates && is_last)
            << describe(instruction, kNetworkNames);
      }
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
      const std::size_t next = i + (schedule[i + 1].operation == Operation::kArm ? 2 : 1);
      ASSERT_LT(next, schedule.size());
      EXPECT_EQ(schedule[next], expected);
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
          << describe(schedule[i], kNetworkNames);
    }
  });
}

TEST(ScheduleRules, WorkersDifferOnlyInTheirMicrobatches) {
  // In micro-batch order, the leaves of all workers are the leaves of one worker that holds all
  // micro-batches.
  for_each_case([](const Case& test) {
    const std::vector<Phase> phases = gan::adversarial_phases(test.job);
    const auto whole = repeats_of(one_stage_schedule(phases, {0, 4}, test.step, Overlap::kNone));
    const auto left = repeats_of(one_stage_schedule(phases, {0, 3}, test.step, Overlap::kNone));
    const auto right = repeats_of(one_stage_schedule(phases, {3, 4}, test.step, Overlap::kNone));
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
