// SPDX-License-Identifier: MIT
#include "comm/reduce/reducer.hpp"

#include <chrono>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "comm/arena/tree_sum.hpp"
#include "comm/transport/loopback_transport.hpp"
#include "tests/comm/groupings.hpp"
#include "tests/comm/spawn_ranks.hpp"
#include "tests/comm/toy_job.hpp"

namespace gangway::comm {
namespace {

enum class Driver { kCaller, kLane };

struct Run {
  ToyJob job;
  std::size_t num_buckets = 3;
  std::vector<int> hosts = {};  ///< by worker; empty: a host for each
  Driver driver = Driver::kCaller;
  unsigned seed = 0;  ///< order in which buckets become ready, if a lane drives
};

/// Returns each worker's final result.
std::vector<ToyResult> run_workers(LoopbackHub& hub, const Run& run) {
  const ArenaLayout layout = toy_layout();
  const std::string token = fresh_token();
  std::vector<ToyResult> results(static_cast<std::size_t>(hub.num_workers()));
  spawn_ranks(hub.num_workers(), [&](int rank) {
    LoopbackTransport transport(hub, rank);
    ToyWorker worker(
        transport, layout,
        {.job = run.job, .num_buckets = run.num_buckets, .hosts = run.hosts, .token = token});
    if (run.driver == Driver::kCaller) {
      results[static_cast<std::size_t>(rank)] = worker.run();
    } else {
      Lane lane([] {});
      results[static_cast<std::size_t>(rank)] = worker.run(lane, run.seed);
    }
  });
  return results;
}

ToyResult run_one_worker(const ToyJob& job) {
  LoopbackHub hub(1);
  return run_workers(hub, {job, 1}).front();
}

void expect_equal(const std::vector<ToyResult>& results, const ToyResult& expected) {
  for (std::size_t worker = 0; worker < results.size(); ++worker) {
    EXPECT_TRUE(same_bits(results[worker].weights, expected.weights))
        << "weights of worker " << worker;
    EXPECT_EQ(results[worker].squared_norms, expected.squared_norms) << "worker " << worker;
  }
}

/// Computes the mean gradient by the tree's definition, without stack, slices or transport.
std::vector<float> tree_gradient(const ArenaLayout& layout, const Arena& weights, int step,
                                 MicrobatchRange node) {
  if (node.size() == 1) {
    Arena gradient(layout.size());
    add_gradient(layout, weights, step, node.begin, gradient.data(), {0, layout.size()});
    return {gradient.data(), gradient.data() + gradient.size()};
  }
  std::vector<float> left = tree_gradient(layout, weights, step, {node.begin, split_point(node)});
  const std::vector<float> right =
      tree_gradient(layout, weights, step, {split_point(node), node.end});
  for (std::size_t i = 0; i < left.size(); ++i) {
    left[i] += right[i];
  }
  return left;
}

/// Trains one worker in plain code.
std::vector<float> plain_weights(const ToyJob& job) {
  const ArenaLayout layout = toy_layout();
  Arena weights(layout.size());
  MomentumUpdater updater(layout, weights);
  for (int step = 0; step < job.num_updates; ++step) {
    std::vector<float> mean = tree_gradient(layout, weights, step, {0, job.num_microbatches});
    for (float& value : mean) {
      value *= 1.0F / static_cast<float>(job.num_microbatches);
    }
    updater.update({0, layout.size()}, mean);
  }
  return {weights.data(), weights.data() + weights.size()};
}

class ReducerTest : public testing::TestWithParam<Grouping> {
 protected:
  static const ToyResult& expected_of(const ToyJob& job) {
    static std::map<std::pair<int, Clipping>, ToyResult> known;
    const auto [found, is_new] = known.try_emplace({job.num_microbatches, job.clipping});
    if (is_new) {
      found->second = run_one_worker(job);
    }
    return found->second;
  }
};

TEST_P(ReducerTest, GivesTheSameBitsAsOneRank) {
  constexpr std::pair<int, std::size_t> kCases[] = {{1, 1}, {2, 3}, {3, 8}, {4, 1},  {5, 3},
                                                    {6, 8}, {7, 3}, {8, 1}, {12, 8}, {12, 3}};
  const std::vector<int>& hosts = GetParam().hosts;
  for (const Clipping clipping : {Clipping::kNone, Clipping::kByNorm}) {
    bool by_lane = clipping == Clipping::kNone;
    for (const auto& [num_microbatches, num_buckets] : kCases) {
      SCOPED_TRACE(testing::Message()
                   << num_microbatches << " micro-batches, " << num_buckets << " buckets, "
                   << (by_lane ? "driven by a lane" : "driven by the caller"));
      const ToyJob job{num_microbatches, 2, clipping};
      LoopbackHub hub(static_cast<int>(hosts.size()));
      expect_equal(
          run_workers(hub, {job, num_buckets, hosts, by_lane ? Driver::kLane : Driver::kCaller}),
          expected_of(job));
      by_lane = !by_lane;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Groupings, ReducerTest, testing::ValuesIn(groupings()), name_of_grouping);

TEST(Reducer, GivesThePlainlyWrittenWeightsOnOneRank) {
  for (const int num_microbatches : {1, 2, 3, 5, 8}) {
    const ToyJob job{num_microbatches, 3, Clipping::kNone};
    EXPECT_TRUE(same_bits(run_one_worker(job).weights, plain_weights(job))) << num_microbatches;
  }
}

TEST(Reducer, AgreesOnTheNormOfTheParametersWithoutTheStatisticsToTheBit) {
  const ArenaLayout layout = toy_layout();
  const Arena zeros(layout.size());
  for (const int m :
       {1, 2, 4, 8, 16}) {  // several steps, as two orders of a sum may agree by chance
    std::vector<float> mean = tree_gradient(layout, zeros, 0, {0, m});
    for (float& value : mean) {
      value *= 1.0F / static_cast<float>(m);
    }
    std::vector<double> blocks;
    for (std::size_t i = 0; i < layout.parameter_range().size(); i += kBlockElements) {
      blocks.push_back(block_sum_of_squares(mean.data() + i));
    }
    EXPECT_EQ(run_one_worker({m, 1, Clipping::kByNorm}).squared_norms.at(0), pairwise_sum(blocks))
        << m;
  }
}

TEST(Reducer, KnowsTheNormAtTheEndOfAnExchangeInWhichItOwnedNothing) {
  const std::vector<ArenaLayout::Tensor> parameters{{"weight", 100}};
  const ArenaLayout layout(parameters, {});  // one block, which the second worker owns
  const ToyJob job{2, 2, Clipping::kByNorm};
  std::vector<double> norms[2];
  LoopbackHub hub(2);
  hub.inject([](int, int, MessageTag tag) {
    return LoopbackHub::MessageFault{
        std::chrono::milliseconds(tag.kind == MessageKind::kScalars ? 20 : 0), false};
  });
  spawn_ranks(2, [&](int rank) {
    LoopbackTransport transport(hub, rank);
    norms[rank] = ToyWorker(transport, layout, {.job = job}).run().squared_norms;
  });
  EXPECT_GT(norms[1].at(0), 0.0);
  EXPECT_EQ(norms[0], norms[1]);
}

TEST(Reducer, ScalesTheParametersButNotTheStatistics) {
  const ToyResult plain = run_one_worker({2, 1, Clipping::kNone});
  const ToyResult clipped = run_one_worker({2, 1, Clipping::kByNorm});
  const ArenaLayout layout = toy_layout();
  const ElementRange statistics = layout.statistics_range();
  EXPECT_TRUE(same_bits(std::span(clipped.weights).subspan(statistics.begin),
                        std::span(plain.weights).subspan(statistics.begin)));
  const double scale = kToyClipNorm / (std::sqrt(clipped.squared_norms.at(0)) + 1e-6);
  ASSERT_LT(scale, 0.9);  // clipping is active
  EXPECT_NEAR(clipped.weights[0] / plain.weights[0], scale, 1e-5);
}

TEST(Reducer, SendsTheBytesOfARingWhenEveryRankOwnsAWholeSubtree) {
  const ToyJob job{4, 1, Clipping::kNone};
  LoopbackHub hub(4);
  std::uint64_t sent = 0;
  for (const ToyResult& result : run_workers(hub, {job, 1})) {
    sent += result.bytes_sent;
  }
  EXPECT_EQ(sent, 2U * 3U * toy_layout().size() *
                      sizeof(float));  // a ring: 2 (W - 1) / W of the arena per worker
}

TEST_P(ReducerTest, SendsBetweenHostsWhatTheFormulaSays) {
  const std::vector<int>& hosts = GetParam().hosts;
  const int num_workers = static_cast<int>(hosts.size());
  const ToyJob job{12, 2, Clipping::kNone};
  LoopbackHub hub(num_workers);
  const std::vector<ToyResult> results = run_workers(hub, {job, 3, hosts});
  const BucketPlan plan(toy_layout(), num_workers, 3);
  for (int worker = 0; worker < num_workers; ++worker) {
    std::uint64_t sent = 0;  // by worker 0's host
    for (std::size_t other = 0; other < hosts.size(); ++other) {
      sent +=
          hosts[other] == hosts[static_cast<std::size_t>(worker)] ? results[other].bytes_sent : 0;
    }
    EXPECT_EQ(sent, 2 * bytes_between_hosts(plan, worker, hosts, toy_ranges(12, num_workers), 12))
        << worker;
  }
}

TEST(Reducer, IsUnchangedByRandomDelays) {
  const ToyJob job{5, 2, Clipping::kByNorm};
  const ToyResult expected = run_one_worker(job);
  const std::vector<std::vector<int>> all_hosts{{0, 1, 2}, {0, 0, 1}, {0, 1, 1, 0}};
  for (unsigned seed = 0; seed < 24; ++seed) {
    SCOPED_TRACE(testing::Message() << "delays of seed " << seed);
    const std::vector<int>& hosts = all_hosts[seed % 3];
    LoopbackHub hub(static_cast<int>(hosts.size()));
    hub.inject([random = std::mt19937(seed)](int, int, MessageTag) mutable {
      const bool late = random() % 4 == 0;
      return LoopbackHub::MessageFault{std::chrono::microseconds(late ? random() % 500 : 0), false};
    });
    const Driver driver = seed % 2 == 0 ? Driver::kCaller : Driver::kLane;
    expect_equal(run_workers(hub, {job, 3, hosts, driver, seed}), expected);
  }
}

TEST(Reducer, TakesNothingFromAnEarlierEpoch) {
  const ToyJob job{4, 2, Clipping::kNone};
  const ToyResult expected = run_one_worker(job);
  const ArenaLayout layout = toy_layout();
  LoopbackHub hub(2);
  spawn_ranks(2, [&](int rank) {  // both send the partials of a step that is then abandoned
    LoopbackTransport transport(hub, rank, 6);
    ToyWorker(transport, layout, {job, 3}).start(1);
  });
  spawn_ranks(2, [&](int rank) {
    LoopbackTransport transport(hub, rank, 7);
    EXPECT_TRUE(same_bits(ToyWorker(transport, layout, {job, 3}).run().weights, expected.weights));
  });
}

TEST(Reducer, AnUpdateWhoseGradientIsNotFiniteAnywhereIsSkippedByAll) {
  // The second of two updates is poisoned, so the weights must be those after the first.
  const ToyJob clean{.num_updates = 1, .clipping = Clipping::kByNorm};
  const ToyJob poisoned{.num_updates = 2, .clipping = Clipping::kByNorm, .poisoned_step = 1};
  const ToyResult expected = run_one_worker(clean);
  for (const int workers : {1, 2, 3, 4}) {
    LoopbackHub hub(workers);
    for (const ToyResult& result : run_workers(hub, {poisoned, 3})) {
      EXPECT_EQ(result.skips, 1) << workers << " workers";
      EXPECT_TRUE(same_bits(result.weights, expected.weights)) << workers << " workers";
    }
  }
}

TEST(Reducer, WhatTheLossWasScaledByIsTakenBackBeforeTheNormIsLookedAt) {
  const ToyResult expected = run_one_worker({.clipping = Clipping::kByNorm});
  const ToyResult scaled = run_one_worker({.clipping = Clipping::kByNorm, .scale_exponent = 12});
  EXPECT_TRUE(same_bits(scaled.weights, expected.weights));
}

}  // namespace
}  // namespace gangway::comm
