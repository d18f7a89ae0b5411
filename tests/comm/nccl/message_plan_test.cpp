// SPDX-License-Identifier: MIT
#include "comm/nccl/message_plan.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "comm/cuda/slice_update.hpp"
#include "tests/comm/groupings.hpp"
#include "tests/comm/toy_job.hpp"

namespace gangway::comm {
namespace {

constexpr std::size_t kBuckets = 5;

/// One worker of a reduction in which messages are copies, matched as NCCL matches them.
struct PlannedWorker {
  MessagePlan plan;
  std::vector<std::vector<float>> partials;
  std::vector<float> host_received, host_sums, received;
  std::vector<float> weights, first, second, average;

  PlannedWorker(const ArenaLayout& layout, const BucketPlan& buckets, int num_microbatches,
                int worker, const std::vector<int>& hosts)
      : plan(buckets, toy_ranges(num_microbatches, buckets.num_workers()), num_microbatches, worker,
             hosts),
        host_received(plan.host_receive_elements()),
        host_sums(plan.sum_elements()),
        received(plan.receive_elements()),
        weights(layout.size()),
        first(layout.size()),
        second(layout.size()),
        average(layout.size()) {
    for (std::size_t i = 0; i < layout.size(); ++i) {
      weights[i] = scattered(i);
      average[i] = weights[i];
    }
    for (const MicrobatchRange& subtree : plan.own_partials()) {
      partials.push_back(sum_of_leaves(layout.size(), subtree));
    }
  }

  /// A partial as a worker's own accumulation makes it: in tree order.
  static std::vector<float> sum_of_leaves(std::size_t elements, MicrobatchRange node) {
    std::vector<float> sum(elements);
    if (node.size() == 1) {
      for (std::size_t i = 0; i < elements; ++i) {
        sum[i] = scattered(static_cast<std::uint64_t>(node.begin + 1) * 1'000'003U + i);
      }
      return sum;
    }
    const int middle = split_point(node);
    sum = sum_of_leaves(elements, {node.begin, middle});
    add_in_place(sum.data(), sum_of_leaves(elements, {middle, node.end}).data(), elements);
    return sum;
  }

  void update_slice(const ArenaLayout& layout, std::size_t index, int num_microbatches) {
    const MessagePlan::Bucket& bucket = plan.buckets()[index];
    const UpdateConstants constants =
        update_constants({.settings = {.lr = 1e-3}, .harvests = 1, .average_decay = 0.9}, 0.1);
    const std::size_t begin = bucket.slice.begin;
    SliceUpdate update{.program = plan.program(),
                       .elements = static_cast<std::int64_t>(bucket.slice.size()),
                       .parameter_elements = static_cast<std::int64_t>(
                           intersect(bucket.slice, layout.parameter_range()).size()),
                       .scale = 1.0F / static_cast<float>(num_microbatches),
                       .constants = &constants,
                       .weights = weights.data() + begin,
                       .moments = {first.data() + begin, second.data() + begin},
                       .average = average.data() + begin};
    update.summands = summands(bucket.sources, begin);
    update_slice_on_host(update);
  }

  [[nodiscard]] SliceSummands summands(const std::vector<MessagePlan::Source>& sources,
                                       std::size_t begin) const {
    using From = MessagePlan::Source::From;
    SliceSummands found;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const std::size_t offset = sources[i].buffer_offset;
      found.values[i] = sources[i].from == From::kOwn ? partials[sources[i].partial].data() + begin
                        : sources[i].from == From::kHost ? host_received.data() + offset
                                                         : received.data() + offset;
    }
    return found;
  }

  /// The values of what is sent, made now where the host's sum is of several.
  const float* sum_of(const MessagePlan::SumSend& send) {
    const std::size_t begin = send.elements.begin;
    if (send.sources.empty()) {
      return partials[send.sum].data() + begin;
    }
    float* const out = host_sums.data() + send.buffer_offset;
    sum_slice_on_host({.program = plan.host_programs()[send.sum],
                       .summands = summands(send.sources, begin),
                       .elements = static_cast<std::int64_t>(send.elements.size()),
                       .out = out});
    return out;
  }
};

using Wires = std::map<std::pair<int, int>, std::deque<std::vector<float>>>;

std::vector<float> take(Wires& wires, int from, int to) {
  std::deque<std::vector<float>>& wire = wires[{from, to}];
  EXPECT_FALSE(wire.empty()) << from << " sends nothing that " << to << " waits for";
  std::vector<float> message = wire.empty() ? std::vector<float>() : wire.front();
  if (!wire.empty()) {
    wire.pop_front();
  }
  return message;
}

void expect_all_taken(const Wires& wires) {
  for (const auto& [ends, wire] : wires) {
    EXPECT_TRUE(wire.empty()) << ends.first << " sends what " << ends.second << " never takes";
  }
}

class Reduction {
 public:
  /// @param hosts  as MessagePlan takes them
  Reduction(int num_microbatches, int num_workers, const std::vector<int>& hosts = {})
      : num_microbatches_(num_microbatches), buckets_(layout_, num_workers, kBuckets) {
    for (int worker = 0; worker < num_workers; ++worker) {
      workers_.emplace_back(layout_, buckets_, num_microbatches, worker, hosts);
      sent_.emplace_back();
    }
  }

  void run() {
    using Bucket = MessagePlan::Bucket;
    for (std::size_t bucket = 0; bucket < buckets_.num_buckets(); ++bucket) {
      round(
          bucket, &Bucket::host_sends,
          [](PlannedWorker& worker, const MessagePlan::PartialSend& send) {
            return worker.partials[send.partial].data() + send.elements.begin;
          },
          &Bucket::host_receives, &PlannedWorker::host_received);
      round(bucket, &Bucket::sends, &PlannedWorker::sum_of, &Bucket::receives,
            &PlannedWorker::received);
      for (PlannedWorker& worker : workers_) {
        worker.update_slice(layout_, bucket, num_microbatches_);
      }
      share_weights(bucket, &Bucket::weight_sends, &Bucket::weight_receives);
      share_weights(bucket, &Bucket::forward_sends, &Bucket::forward_receives);
    }
  }

  [[nodiscard]] const std::vector<PlannedWorker>& workers() const { return workers_; }
  /// Bytes by the worker to which they went.
  [[nodiscard]] const std::map<int, std::uint64_t>& sent(int worker) const {
    return sent_[static_cast<std::size_t>(worker)];
  }
  [[nodiscard]] const BucketPlan& buckets() const { return buckets_; }

 private:
  void put(Wires& wires, int from, int to, const float* values, std::size_t elements) {
    wires[{from, to}].emplace_back(values, values + elements);
    sent_[static_cast<std::size_t>(from)][to] += elements * sizeof(float);
  }

  template <typename Send, typename Values>
  void round(std::size_t bucket, std::vector<Send> MessagePlan::Bucket::*sends, Values values,
             std::vector<MessagePlan::Receive> MessagePlan::Bucket::*receives,
             std::vector<float> PlannedWorker::*buffer) {
    Wires wires;
    for (int worker = 0; worker < buckets_.num_workers(); ++worker) {
      PlannedWorker& own = workers_[static_cast<std::size_t>(worker)];
      for (const Send& send : own.plan.buckets()[bucket].*sends) {
        put(wires, worker, send.peer, std::invoke(values, own, send), send.elements.size());
      }
    }
    for (int worker = 0; worker < buckets_.num_workers(); ++worker) {
      PlannedWorker& own = workers_[static_cast<std::size_t>(worker)];
      for (const MessagePlan::Receive& receive : own.plan.buckets()[bucket].*receives) {
        const std::vector<float> message = take(wires, receive.peer, worker);
        ASSERT_EQ(message.size(), receive.elements);
        ASSERT_LE(receive.buffer_offset + receive.elements, (own.*buffer).size());
        std::ranges::copy(
            message, (own.*buffer).begin() + static_cast<std::ptrdiff_t>(receive.buffer_offset));
      }
    }
    expect_all_taken(wires);
  }

  using Weights = std::vector<MessagePlan::WeightMessage> MessagePlan::Bucket::*;
  void share_weights(std::size_t bucket, Weights sends, Weights receives) {
    Wires wires;
    for (int worker = 0; worker < buckets_.num_workers(); ++worker) {
      const PlannedWorker& own = workers_[static_cast<std::size_t>(worker)];
      for (const auto& send : own.plan.buckets()[bucket].*sends) {
        put(wires, worker, send.peer, own.weights.data() + send.elements.begin,
            send.elements.size());
      }
    }
    for (int worker = 0; worker < buckets_.num_workers(); ++worker) {
      PlannedWorker& own = workers_[static_cast<std::size_t>(worker)];
      for (const auto& receive : own.plan.buckets()[bucket].*receives) {
        const std::vector<float> message = take(wires, receive.peer, worker);
        ASSERT_EQ(message.size(), receive.elements.size());
        std::ranges::copy(
            message, own.weights.begin() + static_cast<std::ptrdiff_t>(receive.elements.begin));
      }
    }
    expect_all_taken(wires);
  }

  ArenaLayout layout_ = toy_layout();
  int num_microbatches_;
  BucketPlan buckets_;
  std::vector<PlannedWorker> workers_;
  std::vector<std::map<int, std::uint64_t>> sent_;  // by worker
};

class MessagePlans : public testing::TestWithParam<Grouping> {
 protected:
  [[nodiscard]] static const std::vector<int>& hosts() { return GetParam().hosts; }
  [[nodiscard]] static int num_workers() { return static_cast<int>(hosts().size()); }
};

TEST_P(MessagePlans, GiveEveryWorkerTheBitsOfOneWorker) {
  for (const int num_microbatches : {1, 2, 3, 6, 8}) {
    SCOPED_TRACE(testing::Message() << num_microbatches << " micro-batches");
    Reduction alone(num_microbatches, 1);
    alone.run();
    Reduction together(num_microbatches, num_workers(), hosts());
    together.run();
    for (const PlannedWorker& worker : together.workers()) {
      ASSERT_TRUE(same_bits(worker.weights, alone.workers().front().weights));
    }
  }
}

TEST_P(MessagePlans, SendTheBytesOfTheFormula) {
  for (const int num_microbatches : {4, 7, 12}) {
    SCOPED_TRACE(testing::Message() << num_microbatches << " micro-batches");
    const std::vector<MicrobatchRange> ranges = toy_ranges(num_microbatches, num_workers());
    Reduction reduction(num_microbatches, num_workers(), hosts());
    reduction.run();
    std::map<int, std::uint64_t> of_hosts;
    for (int worker = 0; worker < num_workers(); ++worker) {
      const int host = hosts()[static_cast<std::size_t>(worker)];
      SentBytes sent;
      for (const auto& [peer, bytes] : reduction.sent(worker)) {
        (hosts()[static_cast<std::size_t>(peer)] == host ? sent.within_host : sent.between_hosts) +=
            bytes;
      }
      const SentBytes expected =
          sent_bytes(reduction.buckets(), ranges, num_microbatches, worker, hosts());
      EXPECT_EQ(sent.within_host, expected.within_host) << worker;
      EXPECT_EQ(sent.between_hosts, expected.between_hosts) << worker;
      of_hosts[host] += sent.between_hosts;
    }
    for (int worker = 0; worker < num_workers(); ++worker) {
      EXPECT_EQ(of_hosts[hosts()[static_cast<std::size_t>(worker)]],
                bytes_between_hosts(reduction.buckets(), worker, hosts(), ranges, num_microbatches))
          << "what plans and CPUs count";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Groupings, MessagePlans, testing::ValuesIn(groupings()), name_of_grouping);

TEST(MessagePlan, SendsAnEighthOutOfAHostOfEight) {
  const ArenaLayout layout = toy_layout();
  const BucketPlan buckets(layout, 16, 1);
  const std::vector<MicrobatchRange> ranges = toy_ranges(16, 16);
  std::vector<int> hosts(16, 0);
  std::fill(hosts.begin() + 8, hosts.end(), 1);
  std::uint64_t by_hosts = 0;
  std::uint64_t direct = 0;
  for (int worker = 0; worker < 8; ++worker) {
    by_hosts += sent_bytes(buckets, ranges, 16, worker, hosts).between_hosts;
    const MessagePlan plan(buckets, ranges, 16, worker);
    for (const auto& send : plan.buckets().front().sends) {
      direct += send.peer >= 8 ? send.elements.size() * sizeof(float) : 0;
    }
    for (const auto& send : plan.buckets().front().weight_sends) {
      direct += send.peer >= 8 ? send.elements.size() * sizeof(float) : 0;
    }
  }
  EXPECT_EQ(by_hosts, layout.size() * sizeof(float));
  EXPECT_EQ(direct, 8 * by_hosts);
}

TEST(MessagePlan, SendsNothingWhereThereIsOneWorker) {
  const ArenaLayout layout = toy_layout();
  const BucketPlan buckets(layout, 1, kBuckets);
  const MessagePlan plan(buckets, toy_ranges(4, 1), 4, 0);
  EXPECT_EQ(plan.receive_elements(), 0U);
  for (const MessagePlan::Bucket& bucket : plan.buckets()) {
    EXPECT_TRUE(bucket.host_sends.empty() && bucket.host_receives.empty());
    EXPECT_TRUE(bucket.sends.empty() && bucket.receives.empty());
    EXPECT_TRUE(bucket.forward_sends.empty() && bucket.forward_receives.empty());
    EXPECT_TRUE(bucket.weight_sends.empty() && bucket.weight_receives.empty());
    EXPECT_EQ(bucket.sources.size(), 1U);
  }
}

TEST(MessagePlan, MovesTheBytesOfARingWhereEveryWorkerHoldsOneSubtree) {
  const ArenaLayout layout = toy_layout();
  for (const int num_workers : {2, 4}) {
    const BucketPlan buckets(layout, num_workers, kBuckets);
    std::size_t elements = 0;
    for (int worker = 0; worker < num_workers; ++worker) {
      const MessagePlan plan(buckets, toy_ranges(8, num_workers), 8, worker);
      for (const MessagePlan::Bucket& bucket : plan.buckets()) {
        for (const auto& send : bucket.sends) {
          elements += send.elements.size();
        }
        for (const auto& send : bucket.weight_sends) {
          elements += send.elements.size();
        }
      }
    }
    EXPECT_EQ(elements, 2 * static_cast<std::size_t>(num_workers - 1) * layout.size());
  }
}

TEST(MessagePlan, RefusesRangesThatAreNotThoseOfItsWorkers) {
  const ArenaLayout layout = toy_layout();
  const BucketPlan buckets(layout, 2, kBuckets);
  EXPECT_THROW((MessagePlan{buckets, toy_ranges(4, 3), 4, 0}), InvariantError);
  EXPECT_THROW((MessagePlan{buckets, toy_ranges(4, 2), 4, 2}), InvariantError);
  EXPECT_THROW((MessagePlan{buckets, {{0, 1}, {2, 4}}, 4, 0}), InvariantError);
  EXPECT_THROW((MessagePlan{buckets, toy_ranges(4, 2), 4, 0, {0, 0, 1}}), InvariantError);
}

}  // namespace
}  // namespace gangway::comm
