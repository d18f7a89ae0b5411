// SPDX-License-Identifier: MIT
// Errors of the reduction when a worker dies, is silent, or disagrees.
#include <chrono>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "comm/reduce/reducer.hpp"
#include "comm/transport/loopback_transport.hpp"
#include "tests/comm/lone_group.hpp"
#include "tests/comm/spawn_ranks.hpp"
#include "tests/comm/toy_job.hpp"

namespace gangway::comm {
namespace {

using std::chrono_literals::operator""us;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using testing::AllOf;
using testing::HasSubstr;

constexpr int kVictim = 2;
constexpr int kWorkers = 4;

enum class Moment { kBeforeStart, kBetweenStartAndUpdate, kWithinUpdate };

/// Runs `body` for each rank. Returns the failures by rank; empty: no failure.
std::vector<std::string> comm_failures(int size, const std::function<void(int)>& body) {
  std::vector<std::string> failures(static_cast<std::size_t>(size));
  spawn_ranks(size, [&](int rank) {
    try {
      body(rank);
    } catch (const CommError& failure) {
      failures[static_cast<std::size_t>(rank)] = failure.what();
    }
  });
  return failures;
}

/// The victim dies in the second step; all workers try to do three.
void train_until_death(LoopbackHub& hub, int rank, Moment moment, ToyWorker& worker) {
  for (int step = 0; step < 3; ++step) {
    const bool dies = rank == kVictim && step == 1;
    if (dies && moment == Moment::kWithinUpdate) {
      worker.updater().before_update = [&hub] { hub.kill(kVictim); };
    }
    if (dies && moment == Moment::kBeforeStart) {
      hub.kill(kVictim);
    }
    worker.start(step);
    if (dies && moment == Moment::kBetweenStartAndUpdate) {
      hub.kill(kVictim);
    }
    worker.finish();
  }
}

class DeathTest : public testing::TestWithParam<std::tuple<Moment, Clipping>> {};

TEST_P(DeathTest, IsNamedByEverySurvivorLongBeforeTheDeadline) {
  const auto [moment, clipping] = GetParam();
  const ArenaLayout layout = toy_layout();
  LoopbackHub hub(kWorkers);
  const Deadline long_before(30s);
  const std::vector<std::string> failures =
      comm_failures(kWorkers, [&, m = moment, c = clipping](int rank) {
        LoopbackTransport transport(hub, rank);
        ToyWorker worker(transport, layout, {{6, 3, c}, 1, 60s});
        try {
          train_until_death(hub, rank, m, worker);
        } catch (const CommError&) {
          if (c == Clipping::kByNorm) {
            hub.kill(rank);  // a worker that gives up ends; others may wait for it
          }
          throw;
        }
      });
  for (const std::string& failure : failures) {
    EXPECT_THAT(failure, HasSubstr(clipping == Clipping::kByNorm ? "is dead" : "rank 3 is dead"));
  }
  EXPECT_THAT(failures, testing::Contains(HasSubstr("rank 3 is dead")).Times(testing::Ge(2)));
  EXPECT_FALSE(long_before.expired());
}

INSTANTIATE_TEST_SUITE_P(Moments, DeathTest,
                         testing::Combine(testing::Values(Moment::kBeforeStart,
                                                          Moment::kBetweenStartAndUpdate,
                                                          Moment::kWithinUpdate),
                                          testing::Values(Clipping::kNone, Clipping::kByNorm)));

struct LossCase {
  MessageKind kind;
  Clipping clipping;
  std::string what;
};

class LossTest : public testing::TestWithParam<LossCase> {};

TEST_P(LossTest, IsAnErrorAtTheDeadlineThatNamesTheSilentWorker) {
  const ArenaLayout layout = toy_layout();
  LoopbackHub hub(3);
  hub.inject([kind = GetParam().kind](int from, int to, MessageTag tag) {
    return LoopbackHub::MessageFault{0us, from == 1 && to == 0 && tag.kind == kind};
  });
  const std::vector<std::string> failures = comm_failures(3, [&](int rank) {
    LoopbackTransport transport(hub, rank);
    try {
      (void)ToyWorker(transport, layout, {{6, 2, GetParam().clipping}, 1, rank == 0 ? 120ms : 60s})
          .run();
    } catch (const CommError&) {
      hub.kill(rank);  // a worker that gives up ends, and the others notice
      throw;
    }
  });
  EXPECT_THAT(failures[0], AllOf(HasSubstr("rank 1 waited"), HasSubstr("for rank 2"),
                                 HasSubstr(GetParam().what)));
  EXPECT_THAT(failures[1], HasSubstr("is dead"));
  EXPECT_THAT(failures[2], HasSubstr("is dead"));
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, LossTest,
    testing::Values(
        LossCase{MessageKind::kPartial, Clipping::kNone, "gradients of network 1, bucket 0"},
        LossCase{MessageKind::kPartial, Clipping::kByNorm, "gradients of network 1, bucket 0"},
        LossCase{MessageKind::kScalars, Clipping::kByNorm, "norm of network 1"},
        LossCase{MessageKind::kWeights, Clipping::kNone, "new weights of network 1"}));

TEST(Reducer, RefusesAMessageOfAnotherLength) {
  const std::vector<ArenaLayout::Tensor> statistics;
  const std::vector<ArenaLayout::Tensor> small{{"weight", 12 * kBlockElements}};
  const std::vector<ArenaLayout::Tensor> large{{"weight", 14 * kBlockElements}};
  const std::vector<ArenaLayout> layouts{{small, statistics}, {large, statistics}};
  LoopbackHub hub(2);
  const std::vector<std::string> failures = comm_failures(2, [&](int rank) {
    LoopbackTransport transport(hub, rank);
    (void)ToyWorker(transport, layouts[static_cast<std::size_t>(rank)],
                    {{2, 1, Clipping::kNone}, 1, 60s})
        .run();
  });
  EXPECT_THAT(failures[0], AllOf(HasSubstr("rank 2 sent"), HasSubstr("where 98304 were expected")));
  EXPECT_THAT(failures[1],
              AllOf(HasSubstr("rank 1 sent"), HasSubstr("where 114688 were expected")));
}

/// The inputs of a reducer, on worker 0 of 2.
struct Parts {
  ArenaLayout layout = toy_layout();
  BucketPlan plan{layout, 2, 1};
  Arena weights{layout.size()};
  MomentumUpdater updater{layout, weights};
  HostMemory memory = HostMemory::alone(0, 2 * kFlagsPerNetwork);
  PartialStack stack{memory, layout.size(), {0, 2}, 4};
  PartialStack none{memory, layout.size(), {0, 0}, 4};
  PartialStack others{memory, layout.size(), {2, 4}, 4};
  HostGroup host = connected(std::move(memory));
  LoopbackHub hub{2};
  LoopbackTransport transport{hub, 0};

  [[nodiscard]] ReducerSetup setup() {
    return {.layout = &layout,
            .plan = &plan,
            .weights = &weights,
            .updater = &updater,
            .partials = &stack,
            .host = &host,
            .ranges = toy_ranges(4, 2),
            .num_microbatches = 4};
  }
};

TEST(Reducer, RefusesPartialsThatAreNotThoseOfItsRange) {
  Parts parts;
  ReducerSetup setup = parts.setup();
  EXPECT_NO_THROW(Reducer(parts.transport, setup));
  setup.partials = &parts.none;
  EXPECT_THROW(Reducer(parts.transport, setup), InvariantError);
  setup.partials = &parts.others;
  EXPECT_THROW(Reducer(parts.transport, setup), InvariantError);
}

TEST(Reducer, RefusesASetupForAnotherNumberOfWorkers) {
  Parts parts;
  const BucketPlan other_plan(parts.layout, 3, 1);
  const auto make = [&](const BucketPlan& chosen, std::vector<MicrobatchRange> ranges,
                        std::vector<int> hosts = {}) {
    ReducerSetup setup = parts.setup();
    setup.plan = &chosen;
    setup.ranges = std::move(ranges);
    setup.hosts = std::move(hosts);
    return Reducer(parts.transport, setup).needs();
  };
  EXPECT_NO_THROW(make(parts.plan, toy_ranges(4, 2)));
  EXPECT_THROW(make(other_plan, toy_ranges(4, 2)), InvariantError);
  EXPECT_THROW(make(parts.plan, toy_ranges(4, 3)), InvariantError);
  EXPECT_THROW(make(parts.plan, {{0, 2}, {3, 4}}), InvariantError);
  EXPECT_THROW(make(parts.plan, {{0, 2}, {1, 4}}), InvariantError);
  EXPECT_THROW(make(parts.plan, {{0, 2}, {2, 3}}), InvariantError);
  EXPECT_THROW(make(parts.plan, toy_ranges(4, 2), {0, 1, 2}), InvariantError);
  EXPECT_THROW(make(parts.plan, toy_ranges(4, 2), {0, 0}),
               InvariantError);  // the group has one worker
}

}  // namespace
}  // namespace gangway::comm
