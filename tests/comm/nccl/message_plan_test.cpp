// SPDX-License-Identifier: MIT
#include "comm/nccl/message_plan.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "tests/comm/groupings.hpp"
#include "tests/comm/nccl/sent_bytes.hpp"
#include "tests/comm/toy_job.hpp"

namespace gangway::comm {
namespace {

constexpr std::size_t kBuckets = 5;

class MessagePlans : public testing::TestWithParam<Grouping> {
 protected:
  [[nodiscard]] static const std::vector<int>& hosts() { return GetParam().hosts; }
  [[nodiscard]] static int num_workers() { return static_cast<int>(hosts().size()); }
};

/// nccl_reducer_test.cpp shows on the stand-ins that plans give the bits of one worker, and send
/// the bytes of the formula.
TEST_P(MessagePlans, SendBetweenHostsWhatCpusSend) {
  for (const int num_microbatches : {4, 7, 12}) {
    SCOPED_TRACE(testing::Message() << num_microbatches << " micro-batches");
    const BucketPlan buckets(toy_layout(), num_workers(), kBuckets);
    const std::vector<MicrobatchRange> ranges = toy_ranges(num_microbatches, num_workers());
    std::map<int, std::uint64_t> of_hosts;
    for (int worker = 0; worker < num_workers(); ++worker) {
      of_hosts[hosts()[static_cast<std::size_t>(worker)]] +=
          sent_bytes(buckets, ranges, num_microbatches, worker, hosts()).between_hosts;
    }
    for (int worker = 0; worker < num_workers(); ++worker) {
      EXPECT_EQ(of_hosts[hosts()[static_cast<std::size_t>(worker)]],
                bytes_between_hosts(buckets, worker, hosts(), ranges, num_microbatches));
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
