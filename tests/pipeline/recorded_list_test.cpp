// SPDX-License-Identifier: MIT
#include "pipeline/recorded_list.hpp"

#include <algorithm>
#include <ranges>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gan/recipes/adversarial.hpp"
#include "pipeline/stages/stage_schedule.hpp"

namespace gangway::pipeline {
namespace {

using ::testing::ElementsAre;

Instruction of(Operation operation, int network, int phase = 0) {
  return {.operation = operation, .network = static_cast<NetworkId>(network), .phase = phase};
}

TEST(Unarmed, BeginsExchangesInTheOrderInWhichTheyWereArmed) {
  const std::vector<Instruction> armed{of(Operation::kArm, 1),    of(Operation::kBackward, 1),
                                       of(Operation::kArm, 0),    of(Operation::kBackward, 0),
                                       of(Operation::kReduce, 0), of(Operation::kAwait, 0),
                                       of(Operation::kReduce, 1), of(Operation::kAwait, 1)};
  EXPECT_THAT(unarmed(armed), ElementsAre(of(Operation::kBackward, 1), of(Operation::kBackward, 0),
                                          of(Operation::kReduce, 1), of(Operation::kAwait, 1),
                                          of(Operation::kReduce, 0), of(Operation::kAwait, 0)));
}

TEST(Unarmed, LeavesTheOrderOfExchangesThatNobodyArmed) {
  const std::vector<Instruction> plain{of(Operation::kReduce, 0), of(Operation::kReduce, 1),
                                       of(Operation::kAwait, 0, 1), of(Operation::kForward, 0, 1)};
  EXPECT_EQ(unarmed(plain), plain);
}

TEST(Unarmed, KeepsWhatIsAloneInItsPhase) {
  const std::vector<Instruction> pair{of(Operation::kArm, 1), of(Operation::kArm, 0),
                                      of(Operation::kReduce, 0), of(Operation::kReduce, 1)};
  const std::vector<Instruction> alone{of(Operation::kArm, 0, 1), of(Operation::kReduce, 0, 1)};
  std::vector<Instruction> both = pair;
  both.insert(both.end(), alone.begin(), alone.end());
  EXPECT_THAT(unarmed(both, Armed::kAlone),
              ElementsAre(of(Operation::kReduce, 1), of(Operation::kReduce, 0),
                          of(Operation::kArm, 0, 1), of(Operation::kReduce, 0, 1)));
}

TEST(Unarmed, TakesNothingElseFromASchedule) {
  const JobSpec job;
  const std::vector<Phase> phases = gan::adversarial_phases(job);
  const std::vector<Instruction> armed = one_stage_schedule(phases, {0, 2}, 0, Overlap::kWithin);
  const std::vector<Instruction> none = one_stage_schedule(phases, {0, 2}, 0, Overlap::kNone);
  EXPECT_NE(armed, none);
  EXPECT_EQ(unarmed(armed), none);
  EXPECT_EQ(unarmed(none), none);
}

TEST(Recorded, PlaysEachStretchBetweenExchanges) {
  const JobSpec job;
  const std::vector<Phase> phases = gan::adversarial_phases(job);
  const std::vector<Instruction> list = one_stage_schedule(phases, {0, 2}, 0, Overlap::kWithin);
  for (const Stretches stretches : {Stretches::kLong, Stretches::kByCall}) {
    for (const Armed kept : {Armed::kNone, Armed::kAlone}) {
      const RecordedList lowered = recorded(list, kept, stretches);
      std::vector<Instruction> played;
      for (const Instruction& one : lowered.list) {
        if (one.operation != Operation::kPlay) {
          played.push_back(one);
          continue;
        }
        const auto& stretch = lowered.stretches.at(static_cast<std::size_t>(one.stretch));
        EXPECT_LE(std::ranges::count(stretch, Operation::kArm, &Instruction::operation), 1);
        if (stretches == Stretches::kByCall) {
          EXPECT_EQ(std::ranges::count(stretch | std::views::drop(1), Operation::kForward,
                                       &Instruction::operation),
                    0);
        }
        played.insert(played.end(), stretch.begin(), stretch.end());
      }
      EXPECT_EQ(played, unarmed(list, kept));
    }
  }
  const RecordedList longest = recorded(list, Armed::kNone, Stretches::kLong);
  EXPECT_EQ(describe(longest.list.front(), {}), "play recording 0");
  EXPECT_EQ(longest.stretches.size(), 2U) << "one before each network's update";
}

}  // namespace
}  // namespace gangway::pipeline
