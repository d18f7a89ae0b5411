// SPDX-License-Identifier: MIT
#include "comm/reduce/replica_check.hpp"

#include <bit>
#include <deque>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "comm/transport/loopback_transport.hpp"

namespace gangway::comm {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

ArenaLayout layout() {
  const std::vector<ArenaLayout::Tensor> parameters{
      {"net/0/weight", 600'000}, {"net/0/bias", 1}, {"net/1/weight", 5'000}};
  const std::vector<ArenaLayout::Tensor> statistics{{"net/1/mean", 64}};
  return {parameters, statistics};
}

/// Workers with one arena per host; the test's thread drives all lanes.
class Replicas {
 public:
  explicit Replicas(std::vector<int> hosts) : hub_(static_cast<int>(hosts.size())) {
    std::map<int, std::size_t> memory_of_host;
    for (std::size_t worker = 0; worker < hosts.size(); ++worker) {
      const auto [memory, is_new] = memory_of_host.try_emplace(hosts[worker], memories_.size());
      if (is_new) {
        Arena& arena = memories_.emplace_back(layout_.size());
        for (std::size_t i = 0; i < arena.size(); ++i) {
          arena.data()[i] = static_cast<float>(i % 1009) * 0.5F;
        }
      }
      LoopbackTransport& transport = transports_.emplace_back(hub_, static_cast<int>(worker));
      checks_.emplace_back(transport, ReplicaCheckSetup{.network = 1,
                                                        .layout = &layout_,
                                                        .weights = &memories_[memory->second],
                                                        .hosts = hosts,
                                                        .timeout = timeout});
    }
  }
  static constexpr std::chrono::milliseconds timeout{50};

  [[nodiscard]] std::size_t size() const { return checks_.size(); }
  ReplicaCheck& check(std::size_t worker) { return checks_[worker]; }
  LoopbackHub& hub() { return hub_; }

  void flip_bit(std::size_t memory, const std::string& tensor, std::size_t element, int bit) {
    for (const auto* entries : {&layout_.parameters(), &layout_.statistics()}) {
      for (const ArenaEntry& entry : *entries) {
        if (entry.name == tensor) {
          float& value = memories_[memory].data()[entry.offset + element];
          value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ (1U << bit));
        }
      }
    }
  }
  /// Returns each worker's report, by worker; empty: all replicas are equal.
  std::vector<std::string> run(std::int64_t step) {
    std::vector<std::string> said(size());
    std::vector<bool> over(size(), false);
    for (ReplicaCheck& check : checks_) {
      check.begin(step);
    }
    while (std::ranges::count(over, false) > 0) {
      for (std::size_t worker = 0; worker < size(); ++worker) {
        try {
          if (!over[worker]) {
            (void)checks_[worker].advance();
            over[worker] = checks_[worker].needs() == Exchange::Need::kNothing;
          }
        } catch (const Error& error) {
          said[worker] = error.what();
          over[worker] = true;
        }
      }
    }
    return said;
  }

 private:
  ArenaLayout layout_ = layout();
  LoopbackHub hub_;
  std::deque<Arena> memories_;
  std::deque<LoopbackTransport> transports_;
  std::deque<ReplicaCheck> checks_;
};

TEST(ReplicaCheckTest, PassesEqualReplicasOnAnyGroupingOfHosts) {
  for (const std::vector<int>& hosts :
       {std::vector{0, 1}, {0, 1, 2}, {0, 0, 2, 2}, {0, 1, 0, 1, 4}, {0, 0, 0, 3}}) {
    Replicas replicas(hosts);
    for (std::int64_t step = 0; step < 3; ++step) {
      EXPECT_THAT(replicas.run(step), ::testing::Each("")) << hosts.size();
    }
  }
}

TEST(ReplicaCheckTest, IsNotNeededWhereAllShareOneMemory) {
  Replicas together({0, 0, 0});
  EXPECT_FALSE(together.check(0).is_needed());
  Replicas apart({0, 0, 2});
  EXPECT_TRUE(apart.check(0).is_needed());
}

TEST(ReplicaCheckTest, NamesTheWorkerWithAFlippedBitAndTensorAndStepOnEveryWorker) {
  std::minstd_rand random(3);
  for (const std::string tensor : {"net/0/weight", "net/1/weight", "net/1/mean"}) {
    for (int i = 0; i < 5; ++i) {
      Replicas replicas({0, 1, 2});
      replicas.flip_bit(2, tensor, random() % 64, static_cast<int>(random() % 32));
      for (const std::string& said : replicas.run(700)) {
        EXPECT_THAT(said, AllOf(HasSubstr("after step 700"), HasSubstr("'" + tensor + "'"),
                                HasSubstr("other bits on rank 3 than"), Not(HasSubstr("rank 2"))));
      }
    }
  }
}

TEST(ReplicaCheckTest, FindsABitAtTheEndOfALargeTensor) {
  Replicas replicas({0, 1, 2});
  replicas.flip_bit(0, "net/0/weight", 599'999, 0);
  EXPECT_THAT(replicas.run(1), ::testing::Each(HasSubstr("other bits on rank 1 than")));
}

TEST(ReplicaCheckTest, NamesAllWorkersOfAMemory) {
  Replicas replicas({0, 0, 2, 2, 4});
  replicas.flip_bit(1, "net/0/bias", 0, 31);
  EXPECT_THAT(replicas.run(9), ::testing::Each(HasSubstr("on ranks 3, 4 (one memory) than")));
}

TEST(ReplicaCheckTest, TakesNoSideBetweenTwo) {
  Replicas replicas({0, 1});
  replicas.flip_bit(1, "net/0/bias", 0, 0);
  EXPECT_THAT(replicas.run(9),
              ::testing::Each(HasSubstr("different bits on rank 1 and rank 2, and no majority")));
}

TEST(ReplicaCheckTest, NamesASilentWorker) {
  Replicas replicas({0, 1});
  replicas.hub().inject(
      [](int from, int, MessageTag) { return LoopbackHub::MessageFault{.lost = from == 1}; });
  EXPECT_THAT(replicas.run(9).front(),
              AllOf(HasSubstr("rank 1 waited"), HasSubstr("for rank 2"), HasSubstr("hashes")));
}

TEST(ReplicaCheckTest, RefusesWeightsOfAnotherStep) {
  Replicas replicas({0, 1});
  replicas.check(0).begin(5);
  replicas.check(1).begin(6);
  const auto talk = [&] {
    for (int i = 0; i < 9; ++i) {
      (void)replicas.check(0).advance();
      (void)replicas.check(1).advance();
    }
  };
  EXPECT_THROW(talk(), InvariantError);
}

}  // namespace
}  // namespace gangway::comm
