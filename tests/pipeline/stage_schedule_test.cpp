// SPDX-License-Identifier: MIT
// Schedules of workers that hold chunks of networks: what must hold for all of them together.
#include "pipeline/stage_schedule.hpp"

#include <map>
#include <set>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "gan/recipes/adversarial.hpp"
#include "gan/recipes/recipes.hpp"
#include "pipeline/apart_schedule.hpp"
#include "pipeline/backward_stations.hpp"
#include "pipeline/cut_phases.hpp"
#include "tests/adversarial_networks.hpp"

namespace gangway::pipeline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

JobSpec staged_job(int microbatches, int stages) {
  JobSpec job;
  job.training.microbatches = microbatches;
  job.layout.stages = stages;
  return job;
}

std::vector<Phase> cut_phases_of(const JobSpec& job, const std::vector<Phase>& whole) {
  PerNetwork<NetworkCuts> cuts;
  const PerNetwork<std::vector<BlockRange>> chunks = chunks_of(job);
  const PerNetwork<Architecture> architectures = job.architectures();
  for (const NetworkId network : job.networks.ids()) {
    cuts.add({.chunks = chunks[network], .live = live_tensors(architectures[network])});
  }
  return cut_phases(whole, cuts);
}

std::vector<std::vector<Instruction>> lists_of(const JobSpec& job, int workers, Overlap overlap) {
  const std::vector<Phase> phases = cut_phases_of(job, gan::adversarial_phases(job));
  std::vector<std::vector<Instruction>> lists;
  for (int worker = 0; worker < workers; ++worker) {
    const PassShares shares(phases, network_groups(job, workers), worker);
    lists.push_back(stage_schedule(shares, 0, overlap));
  }
  return lists;
}

/// Runs the lists of all workers side by side; how far they come.
::testing::AssertionResult come_to_an_end(const std::vector<std::vector<Instruction>>& lists) {
  using Message = std::tuple<int, int, bool, int, int, int, int, int>;
  std::multiset<Message> under_way;
  std::vector<std::size_t> at(lists.size());
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t worker = 0; worker < lists.size(); ++worker) {
      for (; at[worker] < lists[worker].size(); ++at[worker], moved = true) {
        const Instruction& one = lists[worker][at[worker]];
        const bool is_gradient = one.operation == Operation::kSendGradient ||
                                 one.operation == Operation::kReceiveGradient;
        const auto message = [&](int from, int to) {
          return Message{from,       to,       is_gradient,    one.phase,
                         one.repeat, one.pass, one.microbatch, one.node};
        };
        const int me = static_cast<int>(worker);
        if (one.operation == Operation::kSend || one.operation == Operation::kSendGradient) {
          under_way.insert(message(me, one.peer));
        } else if (one.peer >= 0) {
          const auto found = under_way.find(message(one.peer, me));
          if (found == under_way.end()) {
            break;
          }
          under_way.erase(found);
        }
      }
    }
  }
  for (std::size_t worker = 0; worker < lists.size(); ++worker) {
    if (at[worker] != lists[worker].size()) {
      return ::testing::AssertionFailure() << "worker " << worker << " waits at "
                                           << describe(lists[worker][at[worker]], kNetworkNames);
    }
  }
  return under_way.empty() ? ::testing::AssertionSuccess()
                           : ::testing::AssertionFailure() << "something is sent that nobody takes";
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
  const std::vector<Phase> phases = cut_phases_of(job, gan::adversarial_phases(job));
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

TEST(BackwardStations, AreTheChunksFromTheLossOn) {
  const JobSpec job = staged_job(2, 2);
  const std::vector<Phase> phases = cut_phases_of(job, gan::adversarial_phases(job));
  const auto groups = network_groups(job, 2);
  const auto trained = backward_stations(phases[0], groups);
  ASSERT_EQ(trained.size(), 2U);
  EXPECT_THAT(trained[0].trained, ElementsAre(Home{NetworkId{1}, 1}));
  EXPECT_THAT(trained[1].trained, ElementsAre(Home{NetworkId{1}, 0}));
  EXPECT_EQ(trained[0].items.size(), 2U);
  const auto through = backward_stations(phases[1], groups);
  ASSERT_EQ(through.size(), 4U);
  EXPECT_TRUE(through[0].trained.empty());
  EXPECT_THAT(through[3].trained, ElementsAre(Home{NetworkId{0}, 0}));
}

TEST(StageSchedule, OfTheFirstWorkerGoesThroughItsChunks) {
  const auto lists = lists_of(staged_job(2, 2), 2, Overlap::kNone);
  const std::vector<std::string> first = lines_of(lists[0]);
  EXPECT_THAT(
      std::vector<std::string>(first.begin(), first.begin() + 8),
      ElementsAre(
          "0: forward discriminator pass 0 micro-batch 0", "0: send worker 1 pass 0 micro-batch 0",
          "0: forward discriminator pass 0 micro-batch 1", "0: send worker 1 pass 0 micro-batch 1",
          "0: forward generator pass 1 micro-batch 0", "0: send worker 1 pass 1 micro-batch 0",
          "0: forward generator pass 1 micro-batch 1", "0: send worker 1 pass 1 micro-batch 1"));
}

TEST(StageSchedule, NobodyWaitsForEverAndAllThatIsSentIsReceived) {
  std::vector<JobSpec> jobs(3, staged_job(6, 2));
  jobs[1].training.loss = LossKind::kRelativistic;
  jobs[2].training.loss = LossKind::kWasserstein;
  jobs[2].network("discriminator").steps = 3;
  jobs.push_back(jobs[2]);
  jobs.back().training.penalty = {.gradient_penalty = 10.0};
  jobs.back().network("discriminator").cuts = std::vector<int>();
  jobs.push_back(jobs[0]);
  jobs.back().training.penalty = {.r1_gamma = 1.0, .r1_interval = 2};
  jobs.back().network("discriminator").cuts = std::vector<int>();
  for (const JobSpec& job : jobs) {
    for (const int workers : {2, 4}) {
      for (const Overlap overlap : {Overlap::kNone, Overlap::kWithin, Overlap::kAcross}) {
        EXPECT_TRUE(come_to_an_end(lists_of(job, workers, overlap)));
      }
    }
  }
  JobSpec three = staged_job(5, 3);
  EXPECT_TRUE(come_to_an_end(lists_of(three, 3, Overlap::kAcross)));
  EXPECT_TRUE(come_to_an_end(lists_of(three, 6, Overlap::kAcross)));
}

TEST(StageSchedule, EveryApplicationHappensOnceSomewhere) {
  const JobSpec job = staged_job(6, 2);
  std::map<std::tuple<Operation, int, int, int, int>, int> alone;
  std::map<std::tuple<Operation, int, int, int, int>, int> staged;
  const auto count = [](auto& counts, const std::vector<Instruction>& list) {
    for (const Instruction& one : list) {
      if (one.peer < 0 && one.microbatch >= 0 && one.operation != Operation::kOpenLeaf &&
          one.operation != Operation::kCloseLeaf) {
        ++counts[{one.operation, one.phase, one.pass, one.microbatch, one.node}];
      }
    }
  };
  count(alone, one_stage_schedule(cut_phases_of(job, gan::adversarial_phases(job)), {0, 6}, 0,
                                  Overlap::kNone));
  for (const std::vector<Instruction>& list : lists_of(job, 4, Overlap::kNone)) {
    count(staged, list);
  }
  EXPECT_EQ(staged, alone);
}

TEST(StageSchedule, WhileOneWorkerHasAMicrobatchTheNextHasTheOneBefore) {
  // The second worker's first backward waits for no other worker, and all its forwards come first.
  const auto lists = lists_of(staged_job(4, 2), 2, Overlap::kNone);
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

TEST(CutPhases, RefuseAPenaltyOnANetworkThatIsCut) {
  JobSpec job = staged_job(2, 2);
  job.training.penalty = {.r1_gamma = 1.0};
  try {
    (void)cut_phases_of(job, gan::adversarial_phases(job));
    FAIL() << "nothing was refused";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("keep that network whole"));
  }
}

}  // namespace
}  // namespace gangway::pipeline
