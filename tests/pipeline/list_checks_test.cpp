// SPDX-License-Identifier: MIT
#include "pipeline/lists/list_checks.hpp"

#include <algorithm>
#include <array>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "gan/recipes/adversarial.hpp"
#include "gan/recipes/recipes.hpp"
#include "job/models/recipes.hpp"
#include "pipeline/cut_phases.hpp"
#include "pipeline/lists/list_text.hpp"
#include "pipeline/stages/stage_schedule.hpp"
#include "tests/adversarial_networks.hpp"
#include "tests/named_rows.hpp"

namespace gangway::pipeline {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// Two workers, each with a chunk of both networks.
struct CutLists {
  JobSpec job;
  Layout layout;
  std::vector<Phase> phases;
  std::vector<std::vector<Instruction>> lists;

  CutLists() : CutLists(3, 2, 2, {}) {}
  CutLists(int microbatches, int stages, int workers, const Execution& execution,
           StagePlacement placement = StagePlacement::kLoop) {
    job.training.microbatches = microbatches;
    job.layout.stages = stages;
    job.layout.placement = placement;
    static_cast<Execution&>(job.layout) = execution;
    layout = resolve_layout(job, workers);
    phases = cut_phases(gan::adversarial_phases(job), cuts_of(job, layout));
    for (int worker = 0; worker < workers; ++worker) {
      lists.push_back(step_schedule(PassShares(phases, layout, worker), 0));
    }
  }
  [[nodiscard]] std::vector<std::string> faults() const {
    return faults_of(lists, phases, layout, 0, kNetworkNames);
  }
  /// The first of its kind in the second worker's list.
  [[nodiscard]] std::vector<Instruction>::iterator first(Operation operation) {
    return std::ranges::find(lists[1], operation, &Instruction::operation);
  }
};

TEST(ListChecks, PassListsThatWorkersRun) {
  EXPECT_THAT(CutLists().faults(), IsEmpty());
  for (const StageOrder order : {StageOrder::kFill, StageOrder::kByPhase,
                                 StageOrder::kOneForwardOneBackward, StageOrder::kZeroBubble}) {
    for (const int stages : {2, 3, 4}) {
      EXPECT_THAT(CutLists(8, stages, 2 * stages, {.schedule = order}).faults(), IsEmpty());
    }
  }
}

TEST(ListText, MarksThePlaceOfAFailure) {
  const CutLists cut;
  const Instruction at =
      *std::ranges::find(cut.lists[1], Operation::kBackward, &Instruction::operation);
  const std::string text = list_with_place(cut.lists[1], at, kNetworkNames);
  EXPECT_EQ(std::ranges::count(text, '\n'), std::ssize(cut.lists[1]));
  EXPECT_EQ(std::ranges::count(text, '>'), 1);
  EXPECT_THAT(text, HasSubstr("\n> " + line_of(at, kNetworkNames) + "\n"));
}

TEST(ListChecks, FindABackwardWhoseActivationsAreNotMadeAgain) {
  for (const StageOrder order : {StageOrder::kFill, StageOrder::kZeroBubble}) {
    CutLists cut(4, 2, 2, {.schedule = order, .recompute = true});
    EXPECT_THAT(cut.faults(), IsEmpty());
    cut.lists[1].erase(cut.first(Operation::kRecompute));
    EXPECT_THAT(cut.faults(), Not(IsEmpty()));
  }
}

TEST(ListChecks, PassListsWithPenaltiesOnNetworksThatAreCut) {
  for (const int interval : {1, 4}) {
    JobSpec job;
    job.training.microbatches = 4;
    job.training.penalty = {.r1_gamma = 1.0, .r1_interval = interval, .r2_gamma = 1.0};
    for (const int stages : {2, 3}) {
      job.layout.stages = stages;
      Layout layout = resolve_layout(job, 2 * stages);
      const std::vector<Phase> phases =
          cut_phases(gan::adversarial_phases(job), cuts_of(job, layout));
      for (const StageOrder order : {StageOrder::kFill, StageOrder::kByPhase,
                                     StageOrder::kOneForwardOneBackward, StageOrder::kZeroBubble}) {
        layout.schedule = order;
        EXPECT_NO_THROW(require_sound_lists(phases, layout, kNetworkNames));
      }
    }
  }
}

constexpr std::array kEveryOrder{StageOrder::kFill, StageOrder::kByPhase,
                                 StageOrder::kOneForwardOneBackward, StageOrder::kZeroBubble};

TEST(ListChecks, PassListsWhereALabelIsPutBesideTheNoiseAheadOfTheCut) {
  JobSpec job;
  job.training.microbatches = 4;
  job.model.classes = 10;
  job.layout.stages = 2;
  job.placement("generator").cuts = {1};
  Layout layout = resolve_layout(job, 4);
  const std::vector<Phase> phases = cut_phases(gan::adversarial_phases(job), cuts_of(job, layout));
  for (const StageOrder order : kEveryOrder) {
    layout.schedule = order;
    EXPECT_NO_THROW(require_sound_lists(phases, layout, kNetworkNames));
  }
}

/// Its generator works twice in a pass, and between these the discriminator's trunk.
TEST(ListChecks, PassListsWhereWorkersWaitForOneAnotherWithinASegment) {
  JobSpec job = JobSpec::of(*recipe_named("vae-gan"));
  job.training.batch = 32;
  job.layout.stages = 2;
  PerNetwork<std::string> names;
  for (const NetworkSpec& network : job.networks) {
    names.add(network.name);
    job.placement(network.name).cuts = std::vector<int>{};
  }
  for (const int microbatches : {8, 16}) {
    job.training.microbatches = microbatches;
    for (const char* network : {"encoder", "generator", "trunk"}) {
      JobSpec cut = job;
      cut.placement(network).cuts = {1};
      for (const int workers : {4, 6, 8}) {
        Layout layout = resolve_layout(cut, workers);
        const std::vector<Phase> phases = cut_phases(gan::phases_of(cut), cuts_of(cut, layout));
        for (const StageOrder order : kEveryOrder) {
          layout.schedule = order;
          EXPECT_NO_THROW(require_sound_lists(phases, layout, names))
              << network << ", " << workers << " workers, " << microbatches;
        }
      }
    }
  }
}

TEST(ListChecks, RefuseToTrainByLists) {
  const CutLists sound;
  EXPECT_NO_THROW(require_sound_lists(sound.phases, sound.layout, kNetworkNames));
  const std::vector<Phase> uncut = gan::adversarial_phases(sound.job);
  EXPECT_THROW(require_sound_lists(uncut, sound.layout, kNetworkNames), InvariantError);
}

TEST(ListChecks, FindOneInstructionThatIsMissingTwiceOrElsewhere) {
  const CutLists sound;
  // Sends may come later, and what only marks may be missing; whatever else, somebody sees it.
  std::size_t missed = 0;
  for (std::size_t i = 0; i < sound.lists[1].size(); ++i) {
    const Operation operation = sound.lists[1][i].operation;
    CutLists dropped = sound;
    dropped.lists[1].erase(dropped.lists[1].begin() + static_cast<std::ptrdiff_t>(i));
    const bool may_miss = operation == Operation::kArm || operation == Operation::kAwait;
    EXPECT_TRUE(may_miss || !dropped.faults().empty()) << line_of(sound.lists[1][i], kNetworkNames);
    CutLists doubled = sound;
    doubled.lists[1].insert(doubled.lists[1].begin() + static_cast<std::ptrdiff_t>(i),
                            sound.lists[1][i]);
    EXPECT_TRUE(may_miss || !doubled.faults().empty()) << line_of(sound.lists[1][i], kNetworkNames);
    missed += may_miss ? 1 : 0;
  }
  EXPECT_LT(missed, sound.lists[1].size() / 4);
}

/// One of the numbers of an instruction that is of a micro-batch is another one's.
void change_a_number(Instruction& at, int which) {
  switch (which) {
    case 0:
      at.microbatch += 1;
      break;
    case 1:
      at.node += 1;
      break;
    case 2:
      at.phase = 1 - at.phase;
      break;
    case 3:
      at.repeat += 1;
      break;
    default:
      at.pass += 1;
      break;
  }
}

TEST(ListChecks, RefuseAThousandRandomChangesInEveryOrderAndPlacement) {
  std::mt19937 random(2026);
  const auto below = [&](std::size_t count) {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(random);
  };
  int changed = 0;
  for (const StageOrder order : {StageOrder::kFill, StageOrder::kByPhase,
                                 StageOrder::kOneForwardOneBackward, StageOrder::kZeroBubble}) {
    for (const StagePlacement placement : {StagePlacement::kLoop, StagePlacement::kV}) {
      const CutLists sound(4, 2, 4, {.schedule = order}, placement);
      ASSERT_THAT(sound.faults(), IsEmpty());
      for (int i = 0; i < 170;) {
        CutLists broken = sound;
        std::vector<Instruction>& list = broken.lists[below(broken.lists.size())];
        const std::size_t at = below(list.size());
        const Instruction before = list[at];
        // What marks, and waits for weights that nobody asks for before the next step, may be
        // elsewhere.
        if (before.operation == Operation::kArm || before.operation == Operation::kAwait ||
            before.microbatch < 0) {
          continue;
        }
        const std::size_t kind = below(7);
        if ((before.operation == Operation::kOpenLeaf ||
             before.operation == Operation::kCloseLeaf) &&
            (kind == 3 || kind == 6)) {
          continue;  // a leaf has no node, and no pass
        }
        ++i;
        if (kind == 0) {
          list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
        } else if (kind == 1) {
          list.insert(list.begin() + static_cast<std::ptrdiff_t>(at), before);
        } else {
          change_a_number(list[at], static_cast<int>(kind) - 2);
        }
        ++changed;
        EXPECT_THAT(broken.faults(), Not(IsEmpty()))
            << kind << ": " << line_of(before, kNetworkNames);
      }
    }
  }
  EXPECT_GE(changed, 1000);
}

TEST(ListChecks, NameRankAndInstruction) {
  CutLists lists;
  lists.lists[1].erase(lists.first(Operation::kCloseLeaf));
  EXPECT_THAT(lists.faults(), Not(IsEmpty()));
  EXPECT_THAT(lists.faults().front(), HasSubstr("rank 2: "));
  CutLists unsent;
  unsent.lists[1].erase(unsent.first(Operation::kSendGradient));
  EXPECT_THAT(unsent.faults().front(), HasSubstr("rank 1: receive gradient rank 2"));
  EXPECT_THAT(unsent.faults().front(), HasSubstr("waits for ever"));
}

TEST(ListChecks, WantEachBehindWhatItTakes) {
  for (const StageOrder order : {StageOrder::kFill, StageOrder::kZeroBubble}) {
    const CutLists sound(2, 2, 2, {.schedule = order});
    for (std::size_t i = 1; i < sound.lists[1].size(); ++i) {
      const Instruction& one = sound.lists[1][i];
      CutLists early = sound;
      std::vector<Instruction>& list = early.lists[1];
      if (one.operation == Operation::kForward) {  // before what was sent for it
        const auto received = std::ranges::find_if(list, [&](const Instruction& at) {
          return at.operation == Operation::kReceive && at.phase == one.phase &&
                 at.pass == one.pass && at.microbatch == one.microbatch && at.node < one.node;
        });
        if (received == list.end()) {
          continue;
        }
        const Instruction moved = one;
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
        list.insert(list.begin(), moved);
      } else if (one.goes_back()) {  // before its own forward
        const Instruction moved = one;
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
        list.insert(list.begin(), moved);
      } else {
        continue;
      }
      EXPECT_THAT(early.faults(), Contains(HasSubstr("comes before what it takes")))
          << line_of(one, kNetworkNames);
    }
  }
}

TEST(ListChecks, WantLeavesInAscendingOrder) {
  CutLists lists;
  for (std::vector<Instruction>& list : lists.lists) {
    for (Instruction& one : list) {
      if (one.microbatch >= 0) {
        one.microbatch = 2 - one.microbatch;  // all of them do the last one first
      }
    }
  }
  EXPECT_THAT(lists.faults(), Contains(HasSubstr("leaves come in ascending order")));
}

TEST(ListChecks, WantOneOrderOfUpdates) {
  CutLists lists;
  const auto reduces = [](const Instruction& at) { return at.operation == Operation::kReduce; };
  const auto first = std::ranges::find_if(lists.lists[1], reduces);
  const auto second = std::find_if(first + 1, lists.lists[1].end(), reduces);
  std::iter_swap(first, second);
  EXPECT_THAT(lists.faults(), Contains(HasSubstr("it is not the next update")));
}

TEST(ListText, SaysWhatAWorkerHoldsAndDoes) {
  CutLists lists;
  EXPECT_THAT(heading_of(lists.layout, 1, kNetworkNames),
              HasSubstr("# rank 2: generator chunk 1 of 2 (blocks "));
  EXPECT_EQ(line_of(*lists.first(Operation::kForward), kNetworkNames),
            describe(*lists.first(Operation::kForward), kNetworkNames) + " phase=0.0 node=" +
                std::to_string(lists.first(Operation::kForward)->node) + " ahead");
}

}  // namespace
}  // namespace gangway::pipeline
