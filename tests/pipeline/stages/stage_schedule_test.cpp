// SPDX-License-Identifier: MIT
// Schedules of workers that hold chunks of networks: what must hold for all of them together.
#include "pipeline/stages/stage_schedule.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gan/recipes/adversarial.hpp"
#include "gan/recipes/recipes.hpp"
#include "pipeline/cut_phases.hpp"
#include "pipeline/stages/backward_segments.hpp"
#include "tests/adversarial_networks.hpp"
#include "tests/pipeline/side_by_side.hpp"

namespace gangway::pipeline {
namespace {

using ::testing::ElementsAre;

constexpr std::array kOrders = {StageOrder::kByPhase, StageOrder::kFill,
                                StageOrder::kOneForwardOneBackward, StageOrder::kZeroBubble};

JobSpec staged_job(int microbatches, int stages) {
  JobSpec job;
  job.training.microbatches = microbatches;
  job.layout.stages = stages;
  return job;
}

std::vector<Phase> cut_phases_of(const JobSpec& job, int workers) {
  return cut_phases(gan::adversarial_phases(job), cuts_of(job, resolve_layout(job, workers)));
}

std::vector<std::vector<Instruction>> lists_of(JobSpec job, int workers,
                                               const Execution& execution) {
  static_cast<Execution&>(job.layout) = execution;
  const std::vector<Phase> phases = cut_phases_of(job, workers);
  std::vector<std::vector<Instruction>> lists;
  for (int worker = 0; worker < workers; ++worker) {
    const PassShares shares(phases, resolve_layout(job, workers), worker);
    lists.push_back(step_schedule(shares, 0));
  }
  return lists;
}

std::vector<std::string> lines_of(const std::vector<Instruction>& schedule) {
  std::vector<std::string> text;
  for (const Instruction& one : schedule) {
    text.push_back(std::to_string(one.phase) + ": " + describe(one, kNetworkNames));
  }
  return text;
}

TEST(CutPhases, MakeARowOfChunksOfEachApplication) {
  const JobSpec job = staged_job(2, 2);
  const std::vector<Phase> phases = cut_phases_of(job, 2);
  const Pass& fakes = phases[1].passes.front();
  std::vector<int> chunks;
  for (const Node& node : fakes.nodes) {
    if (const auto* application = std::get_if<Application>(&node)) {
      chunks.push_back(application->part->chunk);
    }
  }
  EXPECT_THAT(chunks, ElementsAre(0, 1, 0, 1));
  EXPECT_EQ(harvests_of(phases[0], NetworkId{1}), 2);  // real and fake, whatever the chunks
}

TEST(BackwardSegments, AreTheChunksFromTheLossOn) {
  const JobSpec job = staged_job(2, 2);
  const std::vector<Phase> phases = cut_phases_of(job, 2);
  const auto layout = resolve_layout(job, 2);
  const auto trained = backward_segments(phases[0], layout);
  ASSERT_EQ(trained.size(), 2U);
  EXPECT_THAT(trained[0].trained, ElementsAre(ChunkId{NetworkId{1}, 1}));
  EXPECT_THAT(trained[1].trained, ElementsAre(ChunkId{NetworkId{1}, 0}));
  EXPECT_EQ(trained[0].items.size(), 2U);
  const auto through = backward_segments(phases[1], layout);
  ASSERT_EQ(through.size(), 4U);
  EXPECT_TRUE(through[0].trained.empty());
  EXPECT_THAT(through[3].trained, ElementsAre(ChunkId{NetworkId{0}, 0}));
}

TEST(StageSchedule, OfTheFirstWorkerGoesThroughItsChunks) {
  const auto lists =
      lists_of(staged_job(2, 2), 2, {.overlap = Overlap::kNone, .schedule = StageOrder::kByPhase});
  const std::vector<std::string> first = lines_of(lists[0]);
  EXPECT_THAT(
      std::vector<std::string>(first.begin(), first.begin() + 8),
      ElementsAre(
          "0: forward discriminator pass 0 micro-batch 0", "0: send rank 2 pass 0 micro-batch 0",
          "0: forward discriminator pass 0 micro-batch 1", "0: send rank 2 pass 0 micro-batch 1",
          "0: forward generator pass 1 micro-batch 0", "0: send rank 2 pass 1 micro-batch 0",
          "0: forward generator pass 1 micro-batch 1", "0: send rank 2 pass 1 micro-batch 1"));
}

TEST(StageSchedule, NobodyWaitsForEverAndAllThatIsSentIsReceived) {
  std::vector<JobSpec> jobs(3, staged_job(6, 2));
  jobs[1].training.loss = LossKind::kRelativistic;
  jobs[2].training.loss = LossKind::kWasserstein;
  jobs[2].network("discriminator").steps = 3;
  jobs.push_back(jobs[2]);
  jobs.back().training.penalty = {.gradient_penalty = 10.0};
  jobs.push_back(jobs[0]);
  jobs.back().training.penalty = {.r1_gamma = 1.0, .r1_interval = 2};
  for (const JobSpec& job : jobs) {
    for (const int workers : {2, 4}) {
      for (const Overlap overlap : {Overlap::kNone, Overlap::kWithin, Overlap::kAcross}) {
        for (const StageOrder order : kOrders) {
          EXPECT_TRUE(
              come_to_an_end(lists_of(job, workers, {.overlap = overlap, .schedule = order})));
        }
      }
    }
  }
  const JobSpec three = staged_job(5, 3);
  JobSpec four = staged_job(8, 4);
  four.training.penalty = {.r1_gamma = 1.0};
  for (const StageOrder order : kOrders) {
    EXPECT_TRUE(come_to_an_end(lists_of(three, 3, {.schedule = order})));
    EXPECT_TRUE(come_to_an_end(lists_of(three, 6, {.schedule = order})));
    EXPECT_TRUE(come_to_an_end(lists_of(four, 4, {.schedule = order})));
    EXPECT_TRUE(come_to_an_end(lists_of(four, 8, {.schedule = order})));
  }
}

/// The most micro-batches of which `list` keeps something for a backward at once.
int most_kept(const std::vector<Instruction>& list, const std::vector<Phase>& phases) {
  std::map<std::pair<int, int>, int> kept;  // applications, by phase and micro-batch
  std::size_t most = 0;
  for (const Instruction& one : list) {
    const Pass& pass =
        phases[static_cast<std::size_t>(one.phase)].passes[static_cast<std::size_t>(one.pass)];
    const bool is_kept = (one.operation == Operation::kForward &&
                          pass.has_gradient[static_cast<std::size_t>(one.node)]) ||
                         one.operation == Operation::kPenaltyForward;
    int& left = kept[{one.phase, one.microbatch}];
    left += (is_kept ? 1 : 0) - (one.adds() ? 1 : 0);
    if (left == 0) {
      kept.erase({one.phase, one.microbatch});
    }
    most = std::max(most, kept.size());
  }
  EXPECT_TRUE(kept.empty());
  return static_cast<int>(most);
}

/// Plain, with penalties, and with a network on all workers.
std::vector<JobSpec> jobs_in_flight(int stages) {
  std::vector<JobSpec> jobs(3, staged_job(12, stages));
  jobs[1].training.penalty = {.r1_gamma = 1.0, .r2_gamma = 1.0};
  jobs[2].placement("discriminator").cuts = std::vector<int>{};
  return jobs;
}

TEST(StageSchedule, NoMoreIsInFlightThanMayBeWhateverTheNumberOfMicrobatches) {
  for (const int stages : {2, 3}) {
    for (const JobSpec& job : jobs_in_flight(stages)) {
      const std::vector<Phase> phases = cut_phases_of(job, stages);
      const auto most_of = [&](const Execution& execution) {
        const auto lists = lists_of(job, stages, execution);
        EXPECT_TRUE(come_to_an_end(lists));
        std::vector<int> most;
        for (const auto& list : lists) {
          most.push_back(most_kept(list, phases));
        }
        return std::ranges::max(most);
      };
      const StageOrder in_turns = StageOrder::kOneForwardOneBackward;
      EXPECT_EQ(most_of({.schedule = in_turns}), stages);
      for (const int in_flight : {1, 2, 5}) {
        EXPECT_EQ(most_of({.schedule = StageOrder::kFill, .in_flight = in_flight}), in_flight);
        EXPECT_EQ(most_of({.schedule = StageOrder::kZeroBubble, .in_flight = in_flight}),
                  in_flight);
        EXPECT_EQ(
            most_of({.overlap = Overlap::kNone, .schedule = in_turns, .in_flight = in_flight}),
            in_flight);
      }
      EXPECT_EQ(most_of({.schedule = StageOrder::kByPhase}), 12);
    }
  }
}

TEST(StageSchedule, EveryApplicationHappensOnceSomewhere) {
  const JobSpec job = staged_job(6, 2);
  std::map<std::tuple<Operation, int, int, int, int>, int> alone;
  std::map<std::tuple<Operation, int, int, int, int>, int> staged;
  const auto count = [](auto& counts, const std::vector<Instruction>& list) {
    for (const Instruction& one : list) {
      if (one.is_work() && one.part != BackwardPart::kInputs) {
        ++counts[{one.operation, one.phase, one.pass, one.microbatch, one.node}];
      }
    }
  };
  count(alone, one_stage_schedule(cut_phases_of(job, 4), {0, 6}, 0, Overlap::kNone));
  for (const StageOrder order : kOrders) {
    staged.clear();
    for (const std::vector<Instruction>& list :
         lists_of(job, 4, {.overlap = Overlap::kNone, .schedule = order})) {
      count(staged, list);
    }
    EXPECT_EQ(staged, alone);
  }
}

TEST(StageSchedule, WhileOneWorkerHasAMicrobatchTheNextHasTheOneBefore) {
  // The second worker's first backward waits for no other worker, and all its forwards come first.
  const auto lists =
      lists_of(staged_job(4, 2), 2, {.overlap = Overlap::kNone, .schedule = StageOrder::kByPhase});
  bool has_turned = false;
  for (const Instruction& one : lists[1]) {
    if (one.phase != 0) {
      break;
    }
    has_turned = has_turned || one.operation == Operation::kBackward;
    EXPECT_FALSE(has_turned && (one.operation == Operation::kForward ||
                                one.operation == Operation::kReceiveGradient));
  }
  EXPECT_TRUE(has_turned);
}

TEST(StageSchedule, FillsTheWaitForGradientsWithTheNextPhase) {
  const auto first_of = [](const std::vector<Instruction>& list, int phase, Operation operation) {
    return std::ranges::find_if(list,
                                [&](const Instruction& one) {
                                  return one.phase == phase && one.operation == operation;
                                }) -
           list.begin();
  };
  const auto filled =
      lists_of(staged_job(4, 2), 2, {.overlap = Overlap::kNone, .schedule = StageOrder::kFill});
  const auto plain =
      lists_of(staged_job(4, 2), 2, {.overlap = Overlap::kNone, .schedule = StageOrder::kByPhase});
  EXPECT_LT(first_of(filled[0], 1, Operation::kForward),
            first_of(filled[0], 0, Operation::kReduce));
  EXPECT_GT(first_of(plain[0], 1, Operation::kForward), first_of(plain[0], 0, Operation::kReduce));
  // The next phase's judge is the one that this phase trains.
  const auto reduced = first_of(filled[0], 0, Operation::kReduce);
  for (const Instruction& one : std::span(filled[0]).first(static_cast<std::size_t>(reduced))) {
    EXPECT_FALSE(one.phase == 1 && one.operation == Operation::kForward &&
                 one.network == NetworkId{1});
  }
}

/// "0 forward" and the like, of the parts of the first penalty.
std::vector<std::string> parts_of(const Pass& pass) {
  std::vector<std::string> parts;
  for (const Node& node : pass.nodes) {
    if (const auto* penalty = std::get_if<Penalty>(&node); penalty != nullptr && penalty->part) {
      const PenaltyPart& part = *penalty->part;
      parts.push_back(std::to_string(part.chunk) + (part.goes_forward ? " forward" : "") +
                      (part.goes_back ? " back" : "") + (part.is_measured ? " measured" : ""));
    }
  }
  return parts;
}

TEST(CutPhases, HaveAPenaltyGoUpTheChunksAndDownAgain) {
  JobSpec job = staged_job(2, 3);
  job.training.penalty = {.r1_gamma = 1.0};
  const std::vector<Phase> phases = cut_phases_of(job, 3);
  const Pass& r1 = phases[0].passes.back();
  EXPECT_THAT(parts_of(r1),
              ElementsAre("0 forward", "1 forward", "2 forward back", "1 back", "0 back measured"));
  EXPECT_TRUE(std::holds_alternative<Shown>(r1.nodes.back()));
  EXPECT_EQ(first_penalty(r1), static_cast<int>(r1.nodes.size()));  // all of them go ahead
  const auto chunk_ids = chunk_ids_of(r1);
  EXPECT_EQ(chunk_ids.back()->chunk, 2);  // beside the losses of other passes
}

TEST(BackwardSegments, OfAPenaltyGoForwardBeforeTheyGoBack) {
  JobSpec job = staged_job(2, 2);
  job.training.penalty = {.r1_gamma = 1.0};
  const std::vector<Phase> phases = cut_phases_of(job, 2);
  const auto segments = backward_segments(phases[0], resolve_layout(job, 2));
  ASSERT_EQ(segments.size(), 3U);
  EXPECT_TRUE(segments[0].trained.empty());  // the third sweep through the first chunk
  EXPECT_THAT(segments[1].trained, ElementsAre(ChunkId{NetworkId{1}, 1}));
  EXPECT_THAT(segments[2].trained, ElementsAre(ChunkId{NetworkId{1}, 0}));
  EXPECT_EQ(segments[2].items.size(), 3U);  // of real and fake images, and the fourth sweep
}

}  // namespace
}  // namespace gangway::pipeline
