// SPDX-License-Identifier: MIT
// That lists which generators make are sound, and that each rule finds what breaks it, and says
// where. Random changes are in schedule_mutations_test.cpp.
#include "pipeline/validator/validator.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/staged/text.hpp"
#include "tests/pipeline/stage_cases.hpp"

namespace gangway::pipeline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Validator, FindsNothingInWhatGeneratorsMake) {
  for (const StageCase& test : stage_cases()) {
    const Staged staged(test);
    EXPECT_THAT(staged.validator().violations(staged.schedule), IsEmpty()) << test.name;
  }
}

/// The generator on worker 0, the discriminator on worker 1, in so many micro-batches.
Staged apart(int microbatches = 1, const JobSpec& job = {}) {
  return Staged({.name = "apart",
                 .job = job,
                 .layout = groups_apart({1, 1}, microbatches, {1, 1}),
                 .num_steps = 1});
}

/// Index of the line of `worker` that begins with `words`.
std::size_t line(const Staged& staged, std::size_t worker, const std::string& words) {
  const StageList& list = staged.schedule.workers[worker];
  for (std::size_t at = 0; at < list.size(); ++at) {
    if (text_of(list[at], staged.names).starts_with(words)) {
      return at;
    }
  }
  ADD_FAILURE() << "no line begins with " << words;
  return 0;
}

/// What is found after `change` of the line of `worker` that begins with `words`.
std::vector<std::string> found(Staged staged, std::size_t worker, const std::string& words,
                               const std::function<void(StageList&, std::size_t)>& change,
                               const HoldingLimits& limits = {}) {
  const std::size_t at = line(staged, worker, words);
  change(staged.schedule.workers[worker], at);
  return staged.validator().violations(staged.schedule, limits);
}

void drop(StageList& list, std::size_t at) {
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
}

void do_twice(StageList& list, std::size_t at) {
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(at), list[at]);
}

void swap_with_next(StageList& list, std::size_t at) { std::swap(list[at], list[at + 1]); }

TEST(Validator, NamesWorkerLineAndInstruction) {
  EXPECT_THAT(found(apart(), 0, "send forward", drop),
              ElementsAre("worker 0, line 2: free forward generator.0 step=0 phase=0.0 node=1.1 "
                          "microbatch=0: the tensor is needed later"));
}

TEST(Validator, RefusesWorkThatIsMissingOrDoneTwice) {
  EXPECT_THAT(found(apart(), 1, "input-gradient discriminator.0 step=0 phase=0.0 node=0.1", drop),
              ElementsAre(HasSubstr("node=0.1 microbatch=0 version=0' comes first")));
  EXPECT_THAT(found(apart(), 1, "forward discriminator.0 step=0 phase=0.0 node=0.1", do_twice),
              ElementsAre(HasSubstr("it is done already")));
  EXPECT_THAT(found(apart(), 1, "forward",
                    [](StageList& list, std::size_t at) { list[at].microbatch = 7; }),
              ElementsAre(HasSubstr("these steps have no such work")));
  EXPECT_THAT(
      found(apart(), 1, "forward", [](StageList& list, std::size_t at) { list[at].chunk = 1; }),
      ElementsAre(HasSubstr("there is no such chunk")));
}

TEST(Validator, RefusesWorkOfAnotherWorker) {
  Staged staged = apart();
  staged.schedule.workers[0].insert(staged.schedule.workers[0].begin(),
                                    staged.schedule.workers[1].front());
  EXPECT_THAT(staged.validator().violations(staged.schedule),
              ElementsAre(HasSubstr("the layout gives it to worker 1")));
}

TEST(Validator, RefusesOtherWeightsThanTheOrderOfPhasesGives) {
  const std::string use = "forward discriminator.0 step=0 phase=1.0";
  EXPECT_THAT(found(apart(), 1, use, [](StageList& list, std::size_t at) { list[at].version = 0; }),
              ElementsAre(HasSubstr("the order of phases gives it weights of version 1")));
  EXPECT_THAT(found(apart(), 1, "await discriminator", drop),
              ElementsAre(HasSubstr("an update of its weights is under way: await it")));
  // The generator's own phase looks at the discriminator before the discriminator's update.
  Staged early = apart();
  StageList& list = early.schedule.workers[1];
  const auto begin = list.begin() + static_cast<std::ptrdiff_t>(line(
                                        early, 1, "receive forward generator.0 step=0 phase=1.0"));
  const auto reduce =
      list.begin() + static_cast<std::ptrdiff_t>(line(early, 1, "reduce discriminator"));
  std::rotate(reduce, begin, begin + 2);
  EXPECT_THAT(early.validator().violations(early.schedule),
              ElementsAre(HasSubstr("the weights here have version 0")));
}

TEST(Validator, RefusesWorkBeforeWhatItTakes) {
  EXPECT_THAT(found(apart(), 1, "receive forward generator.0 step=0 phase=0.0", swap_with_next),
              ElementsAre(HasSubstr("microbatch=0 version=0' makes is not here")));
  EXPECT_THAT(found(apart(), 1, "free forward",
                    [](StageList& list, std::size_t at) { std::swap(list[at - 1], list[at]); }),
              ElementsAre(HasSubstr("the tensor is needed later")));
}

TEST(Validator, RefusesGradientsOutsideOfALeaf) {
  const Staged staged = apart();
  EXPECT_THAT(found(staged, 1, "open-leaf", drop),
              ElementsAre(HasSubstr("its micro-batch has no open leaf")));
  EXPECT_THAT(found(staged, 1, "open-leaf", do_twice),
              ElementsAre(HasSubstr("the leaf has been opened already")));
  EXPECT_THAT(found(staged, 1, "close-leaf", drop),
              ElementsAre(HasSubstr("1 leaves of the chunk are not closed")));
  EXPECT_THAT(found(staged, 1, "close-leaf",
                    [](StageList& list, std::size_t at) {
                      std::rotate(&list[at - 3], &list[at], &list[at] + 1);
                    }),
              ElementsAre(HasSubstr("its leaf is not whole: 2 gradients are still to be added")));
}

TEST(Validator, RefusesLeavesThatAreClosedInAnotherOrder) {
  Staged staged = apart(2);
  StageList& list = staged.schedule.workers[1];
  const std::size_t first = line(staged, 1, "close-leaf discriminator.0 step=0 phase=0.0 microb");
  const StageInstruction earlier = list[first];
  drop(list, first);
  const std::size_t second = line(staged, 1, "close-leaf discriminator.0 step=0 phase=0.0 microb");
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(second) + 1, earlier);
  EXPECT_THAT(staged.validator().violations(staged.schedule),
              ElementsAre(HasSubstr("leaves are closed in ascending order: that of micro-batch 0 "
                                    "is the next")));
}

TEST(Validator, RefusesThreeGradientsOfALeafInAnotherOrder) {
  JobSpec job;
  job.training.penalty = {.r1_gamma = 1.0, .r1_interval = 1};
  const Staged staged = apart(1, job);
  // Real, fake, penalty: the first two change places.
  const auto swap_sums = [](StageList& list, std::size_t at) {
    const auto other = std::find_if(list.begin() + static_cast<std::ptrdiff_t>(at) + 1, list.end(),
                                    [](const StageInstruction& one) {
                                      return one.operation == StageOperation::kWeightGradient;
                                    });
    std::swap(list[at], *other);
  };
  EXPECT_THAT(found(staged, 1, "weight-gradient", swap_sums),
              ElementsAre(HasSubstr("comes first")));
  EXPECT_THAT(found(apart(), 1, "weight-gradient", swap_sums), IsEmpty()) << "two commute";
}

TEST(Validator, RefusesAnArmThatIsNotRightBeforeTheLastWork) {
  EXPECT_THAT(found(apart(), 1, "arm", drop),
              ElementsAre(HasSubstr("the last work on its chunk's leaves is not armed for")));
  EXPECT_THAT(found(apart(), 1, "arm", do_twice),
              ElementsAre(HasSubstr("only the last work on a chunk's leaves is armed for, once")));
  EXPECT_THAT(found(apart(2), 1, "arm",
                    [](StageList& list, std::size_t at) {
                      const StageInstruction arm = list[at];
                      list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
                      list.insert(list.begin() + 2, arm);
                    }),
              ElementsAre(HasSubstr("only the last work on a chunk's leaves is armed for, once")));
}

TEST(Validator, RefusesAnUpdateThatIsNotAwaited) {
  EXPECT_THAT(found(apart(), 0, "await generator", drop),
              ElementsAre(HasSubstr("worker 0, line 15: the end: 'reduce generator.0 step=0 "
                                    "phase=1.0 version=0 last' is never awaited")));
  EXPECT_THAT(found(apart(), 0, "await generator", do_twice),
              ElementsAre(HasSubstr("no update of these weights is under way here")));
}

TEST(Validator, RefusesMessagesThatDoNotMatch) {
  const Staged staged = apart(2);
  EXPECT_THAT(found(staged, 0, "send", [](StageList& list, std::size_t at) { list[at].peer = 0; }),
              ElementsAre(HasSubstr("worker 0 takes no such tensor")));
  EXPECT_THAT(
      found(staged, 0, "send", [](StageList& list, std::size_t at) { list[at].bytes = 12; }),
      ElementsAre(HasSubstr("the tensor has 1000 bytes")));
  EXPECT_THAT(
      found(staged, 1, "receive", [](StageList& list, std::size_t at) { list[at].bytes = 12; }),
      ElementsAre(HasSubstr("the next message is 'send forward generator.0 step=0 phase=0.0")));
  EXPECT_THAT(
      found(staged, 1, "receive", [](StageList& list, std::size_t at) { list[at].microbatch = 1; }),
      ElementsAre(HasSubstr("the next message is 'send forward generator.0 step=0 "
                            "phase=0.0 node=1.1 microbatch=0")));
  EXPECT_THAT(found(staged, 0, "send", do_twice), Not(IsEmpty()));
}

TEST(Validator, FindsWhatWaitsForEver) {
  // Each waits for what the other would send only behind it.
  const std::vector<std::string> violations =
      found(apart(), 0, "receive input-gradient", [](StageList& list, std::size_t at) {
        std::rotate(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(at),
                    list.begin() + static_cast<std::ptrdiff_t>(at) + 1);
      });
  EXPECT_THAT(violations, ElementsAre(HasSubstr("worker 0, line 1: receive input-gradient"),
                                      HasSubstr("it waits for ever: worker 0 waits too")));
}

TEST(Validator, FindsExchangesThatBeginInAnotherOrder) {
  Layout layout = replicated(placed(Placement::kLoop, 1, 1, {2, 2}), 2, 2);
  // Two chunks a network on each, so that two reductions stand beside each other.
  for (NetworkLayout& network : layout.networks) {
    network.chunks = {{0, 1}, {1, 2}};
    for (Replica& replica : network.replicas) {
      replica.workers.push_back(replica.workers.front());
    }
  }
  Staged cut({.name = "two", .job = JobSpec{}, .layout = layout, .num_steps = 1});
  ASSERT_THAT(cut.validator().violations(cut.schedule), IsEmpty());
  StageList& list = cut.schedule.workers[1];
  const std::size_t first = line(cut, 1, "reduce generator.1");
  const std::size_t second = line(cut, 1, "reduce generator.0");
  const StageInstruction moved = list[first];
  drop(list, first);
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(second), moved);
  const std::vector<std::string> violations = cut.validator().violations(cut.schedule);
  ASSERT_FALSE(violations.empty());
  EXPECT_THAT(violations.front(), HasSubstr("another worker begins exchanges in another order"));
}

TEST(Validator, FindsAFlushThatNotAllComeTo) {
  Staged staged({.name = "flushed",
                 .job = JobSpec{},
                 .layout = groups_apart({1, 1}, 2, {1, 1}),
                 .options = {.policy = SchedulePolicy::kByPass},
                 .num_steps = 1});
  ASSERT_THAT(staged.validator().violations(staged.schedule), IsEmpty());
  drop(staged.schedule.workers[0], line(staged, 0, "flush"));
  EXPECT_THAT(staged.validator().violations(staged.schedule), Not(IsEmpty()));
}

TEST(Validator, RefusesTensorsThatAreNeverLetGoOf) {
  EXPECT_THAT(found(apart(), 1, "free forward", drop),
              ElementsAre(HasSubstr("makes is never let go of")));
  EXPECT_THAT(
      found(apart(), 1, "forward", [](StageList& list, std::size_t at) { list[at].keeps = false; }),
      ElementsAre(HasSubstr("a backward follows, and it keeps nothing")));
  EXPECT_THAT(found(apart(), 1, "weight-gradient",
                    [](StageList& list, std::size_t at) { list[at].lets_go = false; }),
              ElementsAre(HasSubstr("does not let go")));
}

TEST(Validator, RefusesMoreThanMayBeHeld) {
  const auto nothing = [](StageList& /*list*/, std::size_t /*at*/) {};
  EXPECT_THAT(found(apart(2), 1, "forward", nothing, {.max_stored = 4}), IsEmpty());
  EXPECT_THAT(found(apart(2), 1, "forward", nothing, {.max_stored = 3}),
              ElementsAre(HasSubstr("4 forwards are kept, at most 3 may be")));
  EXPECT_THAT(found(apart(2), 1, "forward", nothing, {.max_open_leaves = 1}),
              ElementsAre(HasSubstr("2 leaves of the chunk are open, at most 1 may be")));
  EXPECT_THAT(found(apart(2), 1, "forward", nothing, {.max_bytes = 9000}), Not(IsEmpty()));
}

TEST(Validator, RefusesListsOfAnotherNumberOfWorkers) {
  const Staged staged = apart();
  EXPECT_THAT(staged.validator().violations({}),
              ElementsAre("there are lists of 0 workers, the layout has 2"));
}

}  // namespace
}  // namespace gangway::pipeline
