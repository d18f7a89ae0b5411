// SPDX-License-Identifier: MIT
// The reduction with rounded messages between hosts. All workers keep equal weights, training stays
// close to the exact one, and half the bytes travel. On one host nothing is rounded.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/reduce/reducer.hpp"
#include "comm/reduce/reduction_routes.hpp"
#include "comm/transport/loopback_transport.hpp"
#include "tests/comm/groupings.hpp"
#include "tests/comm/spawn_ranks.hpp"
#include "tests/comm/toy_job.hpp"

namespace gangway::comm {
namespace {

enum class Driver { kCaller, kLane };

struct Run {
  ToyJob job;
  std::vector<int> hosts;
  WireFormat wire = WireFormat::kFp32;
  Driver driver = Driver::kCaller;
};

std::vector<ToyResult> run_workers(const Run& run) {
  const ArenaLayout layout = toy_layout();
  const std::string token = fresh_token();
  LoopbackHub hub(static_cast<int>(run.hosts.size()));
  std::vector<ToyResult> results(run.hosts.size());
  spawn_ranks(hub.num_workers(), [&](int rank) {
    LoopbackTransport transport(hub, rank);
    ToyWorker worker(transport, layout,
                     {.job = run.job, .hosts = run.hosts, .token = token, .wire = run.wire});
    ToyResult& result = results[static_cast<std::size_t>(rank)];
    if (run.driver == Driver::kCaller) {
      result = worker.run();
    } else {
      Lane lane([] {});
      result = worker.run(lane, 7);
    }
  });
  return results;
}

/// Norm of the difference over the norm of `expected`.
double relative_distance(const std::vector<float>& weights, const std::vector<float>& expected) {
  double apart = 0.0;
  double whole = 0.0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double expected_value = expected[i];
    apart += std::pow(static_cast<double>(weights[i]) - expected_value, 2);
    whole += expected_value * expected_value;
  }
  return std::sqrt(apart / whole);
}

class ReducerWireTest : public testing::TestWithParam<std::tuple<WireFormat, Grouping>> {
 protected:
  [[nodiscard]] static WireFormat wire() { return std::get<0>(GetParam()); }
  [[nodiscard]] static const std::vector<int>& hosts() { return std::get<1>(GetParam()).hosts; }
  [[nodiscard]] static bool is_one_host() {
    return std::ranges::count(hosts(), hosts().front()) == std::ssize(hosts());
  }
  [[nodiscard]] static ToyResult exact(const ToyJob& job) {
    return run_workers({job, {0}}).front();
  }
};

TEST_P(ReducerWireTest, KeepsAllWorkersEqualAndCloseToTheExactTraining) {
  for (const Clipping clipping : {Clipping::kNone, Clipping::kByNorm}) {
    for (const int num_microbatches : {1, 4, 7}) {
      SCOPED_TRACE(testing::Message() << num_microbatches << " micro-batches");
      const ToyJob job{num_microbatches, 12, clipping};
      const Driver driver = clipping == Clipping::kNone ? Driver::kLane : Driver::kCaller;
      const std::vector<ToyResult> results = run_workers({job, hosts(), wire(), driver});
      for (const ToyResult& result : results) {
        EXPECT_TRUE(same_bits(result.weights, results.front().weights));
        EXPECT_EQ(result.squared_norms, results.front().squared_norms);
      }
      const ToyResult expected = exact(job);
      if (is_one_host()) {
        EXPECT_TRUE(same_bits(results.front().weights, expected.weights));
      } else {
        EXPECT_FALSE(same_bits(results.front().weights, expected.weights));
        EXPECT_LT(relative_distance(results.front().weights, expected.weights),
                  wire() == WireFormat::kBf16 ? 2e-3 : 3e-4);
      }
    }
  }
}

TEST_P(ReducerWireTest, SendsHalfTheBytes) {
  const ToyJob job{12, 2, Clipping::kNone};
  const int num_workers = static_cast<int>(hosts().size());
  const std::vector<ToyResult> results = run_workers({job, hosts(), wire()});
  const BucketPlan plan(toy_layout(), num_workers, 3);
  const auto formula = [&](int worker, WireFormat format) {
    return bytes_between_hosts(plan, worker, hosts(), toy_ranges(12, num_workers), 12, format);
  };
  for (int worker = 0; worker < num_workers; ++worker) {
    std::uint64_t sent = 0;  // by its host
    for (std::size_t other = 0; other < hosts().size(); ++other) {
      sent += hosts()[other] == hosts()[static_cast<std::size_t>(worker)]
                  ? results[other].bytes_sent
                  : 0;
    }
    EXPECT_EQ(sent, 2 * formula(worker, wire())) << worker;
    EXPECT_NEAR(static_cast<double>(formula(worker, wire())),
                0.5 * static_cast<double>(formula(worker, WireFormat::kFp32)),
                1e-3 * static_cast<double>(sent));
  }
}

std::string name_of_case(const testing::TestParamInfo<std::tuple<WireFormat, Grouping>>& chosen) {
  std::string name = std::get<0>(chosen.param) == WireFormat::kBf16 ? "Bf16Hosts" : "Fp16Hosts";
  for (const int host : std::get<1>(chosen.param).hosts) {
    name += std::to_string(host);
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Groupings, ReducerWireTest,
                         testing::Combine(testing::Values(WireFormat::kBf16, WireFormat::kFp16),
                                          testing::ValuesIn(std::vector<Grouping>{
                                              {{0, 0, 0, 0}},
                                              {{0, 1}},
                                              {{0, 0, 1, 1}},
                                              {{0, 1, 1, 0}},
                                              {{0, 1, 2, 3}},
                                              {{0, 0, 0, 1, 1, 2, 3}}})),
                         name_of_case);

TEST(ReducerWire,
     KeepsLongTrainingsAsCloseAsShortOnes) {  // error feedback: errors do not add up
  for (const WireFormat wire : {WireFormat::kBf16, WireFormat::kFp16}) {
    const ToyJob job{4, 300, Clipping::kNone};
    const std::vector<ToyResult> results = run_workers({job, {0, 1}, wire});
    const ToyResult expected = run_workers({job, {0}}).front();
    EXPECT_TRUE(same_bits(results[0].weights, results[1].weights));
    EXPECT_LT(relative_distance(results[0].weights, expected.weights),
              wire == WireFormat::kBf16 ? 2e-3 : 3e-4);
  }
}

/// Sets one weight to a given value.
class SpoilingUpdater final : public SliceUpdater {
 public:
  SpoilingUpdater(Arena& weights, float spoiled) : weights_(weights), spoiled_(spoiled) {}
  void update(ElementRange range, std::span<const float> mean) override {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      weights_.data()[i] -= mean[i - range.begin];
    }
    if (range.begin == 0) {
      weights_.data()[5] = spoiled_;
    }
  }

 private:
  Arena& weights_;
  float spoiled_;
};

TEST(ReducerWire, BringsInfinityAndNaNToAllWorkers) {
  const ArenaLayout layout = toy_layout();
  for (const WireFormat wire : {WireFormat::kBf16, WireFormat::kFp16}) {
    for (const float spoiled :
         {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
      LoopbackHub hub(2);
      spawn_ranks(2, [&](int rank) {
        LoopbackTransport transport(hub, rank);
        HostMemory memory = HostMemory::alone(rank, 2 * kFlagsPerNetwork);
        const BucketPlan plan(layout, 2, 3);
        Arena weights(layout.size());
        const std::vector<MicrobatchRange> ranges{{0, 1}, {1, 2}};
        PartialStack partials(memory, layout.size(), ranges[static_cast<std::size_t>(rank)], 2);
        HostGroup host = std::move(memory).connect(1, Deadline(kToyPatience));
        SpoilingUpdater updater(weights, spoiled);
        Reducer reducer(transport, {.layout = &layout,
                                    .plan = &plan,
                                    .weights = &weights,
                                    .updater = &updater,
                                    .partials = &partials,
                                    .host = &host,
                                    .ranges = ranges,
                                    .num_microbatches = 2,
                                    .wire = wire});
        float* const gradient = partials.open_leaf();
        std::fill_n(gradient, layout.size(), 0.25F);
        gradient[7] = rank == 0 ? spoiled : 0.0F;
        partials.push(rank);
        reducer.open();
        (void)reducer.all_ready();
        while (reducer.needs() != Exchange::Need::kNothing) {
          if (!reducer.advance()) {
            transport.idle();
          }
        }
        for (const std::size_t i : {5U, 7U}) {
          EXPECT_FALSE(std::isfinite(weights.data()[i])) << i;
          EXPECT_EQ(std::isnan(weights.data()[i]), std::isnan(spoiled)) << i;
        }
        EXPECT_EQ(weights.data()[6], -0.25F);
        EXPECT_EQ(weights.data()[layout.size() - 1], -0.25F);
      });
    }
  }
}

}  // namespace
}  // namespace gangway::comm
