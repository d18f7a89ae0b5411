// SPDX-License-Identifier: MIT
#include "comm/nccl/message_plan.hpp"

#include <cstring>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "comm/cuda/slice_update.hpp"
#include "tests/comm/toy_job.hpp"

namespace gangway::comm {
namespace {

constexpr std::size_t kBuckets = 5;

/// One worker of a reduction in which messages are copies, matched as NCCL matches them.
struct PlannedWorker {
  MessagePlan plan;
  std::vector<std::vector<float>> partials;
  std::vector<float> received;
  std::vector<float> weights, first, second, average;

  PlannedWorker(const ArenaLayout& layout, const BucketPlan& buckets, int num_microbatches,
                int worker)
      : plan(buckets, toy_ranges(num_microbatches, buckets.num_workers()), num_microbatches,
             worker),
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
    for (std::size_t i = 0; i < bucket.sources.size(); ++i) {
      const MessagePlan::Source& source = bucket.sources[i];
      update.summands.values[i] = source.is_own ? partials[source.partial].data() + begin
                                                : received.data() + source.buffer_offset;
    }
    update_slice_on_host(update);
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
  Reduction(int num_microbatches, int num_workers)
      : num_microbatches_(num_microbatches), buckets_(layout_, num_workers, kBuckets) {
    for (int worker = 0; worker < num_workers; ++worker) {
      workers_.emplace_back(layout_, buckets_, num_microbatches, worker);
    }
  }

  void run() {
    for (std::size_t bucket = 0; bucket < buckets_.num_buckets(); ++bucket) {
      exchange_partials(bucket);
      for (PlannedWorker& worker : workers_) {
        worker.update_slice(layout_, bucket, num_microbatches_);
      }
      share_weights(bucket);
    }
  }

  [[nodiscard]] const std::vector<PlannedWorker>& workers() const { return workers_; }

 private:
  void exchange_partials(std::size_t bucket) {
    Wires wires;
    for (std::size_t worker = 0; worker < workers_.size(); ++worker) {
      for (const MessagePlan::PartialSend& send : workers_[worker].plan.buckets()[bucket].sends) {
        const std::vector<float>& partial = workers_[worker].partials[send.partial];
        wires[{static_cast<int>(worker), send.peer}].emplace_back(
            partial.data() + send.elements.begin, partial.data() + send.elements.end);
      }
    }
    for (std::size_t worker = 0; worker < workers_.size(); ++worker) {
      for (const MessagePlan::PartialReceive& receive :
           workers_[worker].plan.buckets()[bucket].receives) {
        const std::vector<float> message = take(wires, receive.peer, static_cast<int>(worker));
        ASSERT_EQ(message.size(), receive.elements);
        std::ranges::copy(message, workers_[worker].received.begin() +
                                       static_cast<std::ptrdiff_t>(receive.buffer_offset));
      }
    }
    expect_all_taken(wires);
  }

  void share_weights(std::size_t bucket) {
    Wires wires;
    for (std::size_t worker = 0; worker < workers_.size(); ++worker) {
      const std::vector<float>& weights = workers_[worker].weights;
      for (const auto& send : workers_[worker].plan.buckets()[bucket].weight_sends) {
        wires[{static_cast<int>(worker), send.peer}].emplace_back(
            weights.data() + send.elements.begin, weights.data() + send.elements.end);
      }
    }
    for (std::size_t worker = 0; worker < workers_.size(); ++worker) {
      for (const auto& receive : workers_[worker].plan.buckets()[bucket].weight_receives) {
        const std::vector<float> message = take(wires, receive.peer, static_cast<int>(worker));
        ASSERT_EQ(message.size(), receive.elements.size());
        std::ranges::copy(message, workers_[worker].weights.begin() +
                                       static_cast<std::ptrdiff_t>(receive.elements.begin));
      }
    }
    expect_all_taken(wires);
  }

  ArenaLayout layout_ = toy_layout();
  int num_microbatches_;
  BucketPlan buckets_;
  std::vector<PlannedWorker> workers_;
};

TEST(MessagePlan, GivesEveryWorkerTheBitsOfOneWorker) {
  for (const int num_microbatches : {1, 2, 3, 6, 8}) {
    Reduction alone(num_microbatches, 1);
    alone.run();
    for (const int num_workers : {2, 3, 4, 7}) {
      SCOPED_TRACE(testing::Message()
                   << num_microbatches << " micro-batches, " << num_workers << " workers");
      Reduction together(num_microbatches, num_workers);
      together.run();
      for (const PlannedWorker& worker : together.workers()) {
        ASSERT_TRUE(same_bits(worker.weights, alone.workers().front().weights));
      }
    }
  }
}

TEST(MessagePlan, SendsNothingWhereThereIsOneWorker) {
  const ArenaLayout layout = toy_layout();
  const BucketPlan buckets(layout, 1, kBuckets);
  const MessagePlan plan(buckets, toy_ranges(4, 1), 4, 0);
  EXPECT_EQ(plan.receive_elements(), 0U);
  for (const MessagePlan::Bucket& bucket : plan.buckets()) {
    EXPECT_TRUE(bucket.sends.empty() && bucket.receives.empty());
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
}

}  // namespace
}  // namespace gangway::comm
