// SPDX-License-Identifier: MIT
// Exchanges during computation: of the next bucket, another network, the next step.
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "comm/reduce/reducer.hpp"
#include "comm/transport/loopback_transport.hpp"
#include "tests/comm/spawn_ranks.hpp"
#include "tests/comm/toy_job.hpp"

namespace gangway::comm {
namespace {

using Results = std::map<std::string, std::vector<float>>;

ArenaLayout small_layout() {
  const std::vector<ArenaLayout::Tensor> parameters{{"weight", 20'000}, {"bias", 70}};
  return {parameters, {}};
}

/// Trains two networks on one lane, and awaits each just before its next use. So the exchange of
/// one network overlaps the other's computation.
Results train_two(Transport& transport, const std::vector<int>& hosts, const std::string& token) {
  const ArenaLayout layouts[] = {toy_layout(), small_layout()};
  const ToySetup critic{
      .job = {4, 0, Clipping::kByNorm}, .hosts = hosts, .token = token, .network = 1};
  const ToySetup generator{.job = {4, 0, Clipping::kNone},
                           .num_buckets = 2,
                           .hosts = hosts,
                           .token = token,
                           .network = 0};
  HostMemory memory = toy_host(transport, critic);
  ToyNetwork networks[] = {{transport, memory, layouts[0], critic},
                           {transport, memory, layouts[1], generator}};
  HostGroup host = std::move(memory).connect(networks[0].plan().hash() ^ networks[1].plan().hash(),
                                             Deadline(kToyPatience));
  Lane lane([] {});
  lane.listen_to(host, Lane::Core::kShared);
  for (ToyNetwork& network : networks) {
    network.build_reducer(host);
    lane.attach(network.reducer());
  }
  const std::vector<std::size_t> orders[] = {{0, 1, 2}, {1, 0}};
  for (int step = 0; step < 4; ++step) {
    for (std::size_t i = 0; i < 2; ++i) {
      ToyNetwork& network = networks[i];
      lane.wait(network.reducer());
      network.open();
      network.compute(step, orders[i], lane);
    }
  }
  Results results;
  for (ToyNetwork& network : networks) {
    lane.wait(network.reducer());
    lane.detach(network.reducer());
    results[&network == networks ? "critic" : "generator"] = network.result().weights;
  }
  lane.stop_listening();
  return results;
}

std::vector<Results> train_two_everywhere(const std::vector<int>& hosts) {
  LoopbackHub hub(static_cast<int>(hosts.size()));
  const std::string token = fresh_token();
  std::vector<Results> results(hosts.size());
  spawn_ranks(hub.num_workers(), [&](int rank) {
    LoopbackTransport transport(hub, rank);
    results[static_cast<std::size_t>(rank)] = train_two(transport, hosts, token);
  });
  return results;
}

TEST(Overlap, OfTwoNetworksOnOneLaneChangesNoBit) {
  const Results expected = train_two_everywhere({0}).front();
  for (const std::vector<int>& hosts : {std::vector<int>{0, 0}, {0, 1}, {0, 0, 1}, {0, 1, 0, 1}}) {
    for (const Results& results : train_two_everywhere(hosts)) {
      for (const auto& [network, weights] : expected) {
        EXPECT_TRUE(same_bits(results.at(network), weights))
            << network << " on " << hosts.size() << " workers";
      }
    }
  }
}

/// Worker 0 of two on one host. The test plays both workers, step by step.
class StepByStepTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string token = fresh_token();
    const ToySetup setup{.job = {2, 1, Clipping::kNone}, .hosts = {0, 0}, .token = token};
    workers_.resize(2);
    spawn_ranks(2, [&](int rank) {
      const auto index = static_cast<std::size_t>(rank);
      transports_[index] = std::make_unique<LoopbackTransport>(hub_, rank);
      workers_[index] = std::make_unique<ToyWorker>(*transports_[index], layout_, setup);
    });
  }
  [[nodiscard]] Reducer& reducer(std::size_t worker) { return workers_[worker]->reducer(); }
  void compute_and_open() {
    for (const std::unique_ptr<ToyWorker>& worker : workers_) {
      worker->network().compute(0);
      worker->network().open();
    }
  }
  void advance_both() {
    for (bool moved = true; moved;) {
      moved = reducer(0).advance();
      moved = reducer(1).advance() || moved;
    }
  }

  ArenaLayout layout_ = toy_layout();
  LoopbackHub hub_{2};
  std::unique_ptr<LoopbackTransport> transports_[2];
  std::vector<std::unique_ptr<ToyWorker>> workers_;
};

TEST_F(StepByStepTest, ABucketIsExchangedWhileOthersAreNotReady) {
  compute_and_open();
  reducer(0).bucket_ready(1);
  advance_both();
  EXPECT_EQ(reducer(0).needs(), Exchange::Need::kHost);  // worker 1's part of the bucket
  EXPECT_EQ(reducer(1).needs(), Exchange::Need::kCompute);
  const std::vector<float> before = workers_[0]->network().result().weights;
  reducer(1).bucket_ready(1);
  advance_both();
  EXPECT_EQ(reducer(0).needs(), Exchange::Need::kCompute);
  const std::vector<float> after = workers_[0]->network().result().weights;
  const ElementRange bucket = workers_[0]->network().plan().bucket(1);
  EXPECT_FALSE(same_bits(std::span(before).subspan(bucket.begin, 100),
                         std::span(after).subspan(bucket.begin, 100)));
  EXPECT_TRUE(
      same_bits(std::span(before).first(bucket.begin), std::span(after).first(bucket.begin)));
  EXPECT_TRUE(
      same_bits(std::span(before).subspan(bucket.end), std::span(after).subspan(bucket.end)));
}

TEST_F(StepByStepTest, BucketsThatNobodySaidAreReadyTravelInTheEndAndAreCounted) {
  compute_and_open();
  reducer(0).bucket_ready(2);
  reducer(0).bucket_ready(2);
  EXPECT_EQ(reducer(0).all_ready(), 2U);
  EXPECT_EQ(reducer(0).all_ready(), 0U);
  EXPECT_EQ(reducer(1).all_ready(), 3U);
  advance_both();
  EXPECT_EQ(reducer(0).needs(), Exchange::Need::kNothing);
  EXPECT_EQ(reducer(1).needs(), Exchange::Need::kNothing);
}

TEST_F(StepByStepTest, ASecondExchangeCannotBeginBeforeTheEndOfTheFirst) {
  compute_and_open();
  EXPECT_THROW(reducer(0).open(), InvariantError);
  (void)reducer(0).all_ready();
  advance_both();
  EXPECT_THROW(reducer(0).open(), InvariantError);
  (void)reducer(1).all_ready();
  advance_both();
  EXPECT_NO_THROW(reducer(0).open());
}

TEST_F(StepByStepTest, EveryBucketTellsWhenItHadItsNewWeights) {
  const auto begin = Reducer::Clock::now();
  compute_and_open();
  for (const std::size_t bucket : {2U, 0U, 1U}) {
    reducer(0).bucket_ready(bucket);
    reducer(1).bucket_ready(bucket);
    advance_both();
  }
  const auto finished = reducer(0).finished_at();
  ASSERT_EQ(finished.size(), 3U);
  EXPECT_LE(begin, finished[2]);
  EXPECT_LE(finished[2], finished[0]);
  EXPECT_LE(finished[0], finished[1]);
}

}  // namespace
}  // namespace gangway::comm
