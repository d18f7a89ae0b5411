// SPDX-License-Identifier: MIT
#include "comm/reduce/range_gather.hpp"

#include <chrono>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "comm/transport/loopback_transport.hpp"
#include "tests/comm/spawn_ranks.hpp"
#include "tests/comm/toy_job.hpp"

namespace gangway::comm {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using testing::HasSubstr;

float value_at(std::size_t element, int part) {
  return static_cast<float>(element) + 0.5F * static_cast<float>(part);
}

/// Returns an arena in which only the elements of `worker` are filled.
Arena own_slices(const BucketPlan& plan, std::size_t size, int worker, int part) {
  Arena arena(size);
  for (std::size_t bucket = 0; bucket < plan.num_buckets(); ++bucket) {
    const ElementRange slice = plan.slice(bucket, worker);
    for (std::size_t i = slice.begin; i < slice.end; ++i) {
      arena.data()[i] = value_at(i, part);
    }
  }
  return arena;
}

void expect_values(const Arena& arena, ElementRange range, int part) {
  for (std::size_t i = range.begin; i < range.end; ++i) {
    ASSERT_EQ(arena.data()[i], value_at(i, part)) << "element " << i << " of part " << part;
  }
}

/// Returns all elements for worker 0, an unaligned range for worker 1, none for worker 2, and
/// overlapping ranges for the other workers.
std::vector<ElementRange> wishes(std::size_t size, int num_workers) {
  std::vector<ElementRange> wanted{{0, size}, {101, size - 77}, {}};
  for (std::size_t worker = 3; worker < static_cast<std::size_t>(num_workers); ++worker) {
    wanted.push_back({worker * 1000, worker * 1000 + 5000});
  }
  wanted.resize(static_cast<std::size_t>(num_workers));
  return wanted;
}

class RangeGatherTest : public testing::TestWithParam<int> {};

TEST_P(RangeGatherTest, BringsEveryWorkerWhatItWants) {
  const int num_workers = GetParam();
  const ArenaLayout layout = toy_layout();
  for (const std::size_t num_buckets : {1U, 3U, 8U}) {
    const BucketPlan plan(layout, num_workers, num_buckets);
    const std::vector<ElementRange> wanted = wishes(layout.size(), num_workers);
    LoopbackHub hub(num_workers);
    spawn_ranks(num_workers, [&](int rank) {
      LoopbackTransport transport(hub, rank);
      for (const int part : {0, 1, 63}) {
        Arena arena = own_slices(plan, layout.size(), rank, part);
        gather_ranges(
            transport,
            {.network = 1, .part = part, .plan = &plan, .arena = &arena, .wanted = wanted});
        expect_values(arena, wanted[static_cast<std::size_t>(rank)], part);
      }
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Workers, RangeGatherTest, testing::Values(1, 2, 3, 4, 7));

TEST(RangeGather, SendsNothingThatNobodyWants) {
  const ArenaLayout layout = toy_layout();
  const BucketPlan plan(layout, 2, 3);
  LoopbackHub hub(2);
  spawn_ranks(2, [&](int rank) {
    LoopbackTransport transport(hub, rank);
    Arena arena = own_slices(plan, layout.size(), rank, 0);
    gather_ranges(transport, {.plan = &plan, .arena = &arena, .wanted = {{}, {}}});
    EXPECT_EQ(transport.bytes_sent(), 0U);
  });
}

TEST(RangeGather, NamesTheSilentWorkerAtTheDeadline) {
  const ArenaLayout layout = toy_layout();
  const BucketPlan plan(layout, 2, 1);
  LoopbackHub hub(2);
  LoopbackTransport transport(hub, 0);
  Arena arena = own_slices(plan, layout.size(), 0, 0);
  try {
    gather_ranges(
        transport,
        {.plan = &plan, .arena = &arena, .wanted = {{0, layout.size()}, {}}, .timeout = 20ms});
    FAIL() << "the silent worker was not noticed";
  } catch (const CommError& failure) {
    EXPECT_THAT(failure.what(), HasSubstr("for rank 2 (state for a checkpoint or a picture)"));
  }
}

TEST(RangeGather, NamesADeadWorker) {
  const ArenaLayout layout = toy_layout();
  const BucketPlan plan(layout, 3, 1);
  LoopbackHub hub(3);
  hub.kill(2);
  LoopbackTransport transport(hub, 0);
  Arena arena = own_slices(plan, layout.size(), 0, 0);
  try {
    gather_ranges(
        transport,
        {.plan = &plan, .arena = &arena, .wanted = {{0, layout.size()}, {}, {}}, .timeout = 60s});
    FAIL() << "the dead worker was not noticed";
  } catch (const CommError& failure) {
    EXPECT_THAT(failure.what(), HasSubstr("rank 3 is dead"));
  }
}

}  // namespace
}  // namespace gangway::comm
