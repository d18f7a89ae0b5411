// SPDX-License-Identifier: MIT
#include "comm/reduce/reduction_routes.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/comm/groupings.hpp"
#include "tests/comm/toy_job.hpp"

namespace gangway::comm {
namespace {

constexpr int kMicrobatches[] = {1, 2, 3, 4, 6, 7, 12, 13};

class ReductionRoutesTest : public testing::TestWithParam<Grouping> {
 protected:
  [[nodiscard]] static const std::vector<int>& hosts() { return GetParam().hosts; }
  [[nodiscard]] static int num_workers() { return static_cast<int>(hosts().size()); }
  [[nodiscard]] static bool same_host(int a, int b) {
    return hosts()[static_cast<std::size_t>(a)] == hosts()[static_cast<std::size_t>(b)];
  }
  /// Returns the routes by worker.
  [[nodiscard]] static std::vector<ReductionRoutes> all_routes(int num_microbatches) {
    std::vector<ReductionRoutes> all;
    for (int worker = 0; worker < num_workers(); ++worker) {
      all.push_back(routes_of(worker, hosts(), toy_ranges(num_microbatches, num_workers()),
                              num_microbatches));
    }
    return all;
  }
  [[nodiscard]] static const ReductionRoutes& at(const std::vector<ReductionRoutes>& all,
                                                 int worker) {
    return all[static_cast<std::size_t>(worker)];
  }
};

bool contains(const std::vector<int>& workers, int worker) {
  return std::ranges::find(workers, worker) != workers.end();
}

TEST_P(ReductionRoutesTest, BringEveryMicrobatchOnceToEveryOwner) {
  for (const int m : kMicrobatches) {
    const std::vector<MicrobatchRange> ranges = toy_ranges(m, num_workers());
    const std::vector<ReductionRoutes> all = all_routes(m);
    for (int owner = 0; owner < num_workers(); ++owner) {
      std::vector<MicrobatchRange> arriving;
      for (const int member : at(all, owner).host_members) {
        arriving.push_back(ranges[static_cast<std::size_t>(member)]);
      }
      for (const ReductionRoutes::Incoming& incoming : at(all, owner).incoming) {
        arriving.push_back(incoming.microbatches);
      }
      EXPECT_EQ(covered_from_start(arriving), m)
          << "owner " << owner << ", " << m << " micro-batches";
    }
  }
}

TEST_P(ReductionRoutesTest, AreSeenAlikeFromBothEnds) {
  for (const int m : kMicrobatches) {
    const std::vector<ReductionRoutes> all = all_routes(m);
    for (int owner = 0; owner < num_workers(); ++owner) {
      for (const ReductionRoutes::Incoming& incoming : at(all, owner).incoming) {
        const ReductionRoutes& sender = at(all, incoming.peer);
        EXPECT_TRUE(contains(sender.served, owner)) << incoming.peer << " sends to " << owner;
        ASSERT_LT(incoming.part, sender.host_subtrees.size());
        EXPECT_EQ(sender.host_subtrees[incoming.part], incoming.microbatches);
      }
      for (int worker = 0; worker < num_workers(); ++worker) {
        EXPECT_EQ(contains(at(all, worker).served, owner),
                  contains(at(all, owner).delegates, worker));
      }
    }
  }
}

TEST_P(ReductionRoutesTest, BringNewWeightsOnceToEveryOtherHost) {
  const std::vector<ReductionRoutes> all = all_routes(4);
  for (int owner = 0; owner < num_workers(); ++owner) {
    for (int worker = 0; worker < num_workers(); ++worker) {
      const auto arrivals = std::ranges::count_if(
          at(all, owner).delegates, [&](int delegate) { return same_host(delegate, worker); });
      EXPECT_EQ(arrivals, same_host(owner, worker) ? 0 : 1)
          << "of " << owner << " at the host of " << worker;
    }
  }
}

TEST_P(ReductionRoutesTest, SpreadTheOwnersElsewhereOverTheWorkersOfAHost) {
  const std::vector<ReductionRoutes> all = all_routes(4);
  for (int worker = 0; worker < num_workers(); ++worker) {
    const auto on_host = at(all, worker).host_members.size();
    std::size_t most = 0;  // other hosts' owners per worker
    for (int host = 0; host < num_workers(); ++host) {
      const auto owners = static_cast<std::size_t>(std::ranges::count(hosts(), host));
      most +=
          host == hosts()[static_cast<std::size_t>(worker)] ? 0 : (owners + on_host - 1) / on_host;
    }
    EXPECT_LE(at(all, worker).served.size(), most) << worker;
  }
}

TEST_P(ReductionRoutesTest, CarryTheBytesOfTheFormula) {
  const ArenaLayout layout = toy_layout();
  for (const int m : kMicrobatches) {
    const std::vector<MicrobatchRange> ranges = toy_ranges(m, num_workers());
    const std::vector<ReductionRoutes> all = all_routes(m);
    for (const std::size_t num_buckets : {1U, 3U, 8U}) {
      const BucketPlan plan(layout, num_workers(), num_buckets);
      const auto owned = [&](int owner) {
        std::size_t elements = 0;
        for (std::size_t bucket = 0; bucket < plan.num_buckets(); ++bucket) {
          elements += plan.slice(bucket, owner).size();
        }
        return elements;
      };
      for (int host = 0; host < num_workers(); ++host) {
        std::size_t gradients = 0;
        std::size_t weights = 0;
        int any = -1;
        for (int worker = 0; worker < num_workers(); ++worker) {
          if (hosts()[static_cast<std::size_t>(worker)] == host) {
            any = worker;
            weights += owned(worker) * at(all, worker).delegates.size();
            for (const int owner : at(all, worker).served) {
              gradients += owned(owner) * at(all, worker).host_subtrees.size();
            }
          }
        }
        if (any >= 0) {
          EXPECT_EQ(bytes_between_hosts(plan, any, hosts(), ranges, m), 4 * gradients + 4 * weights)
              << host;
          EXPECT_EQ(bytes_between_hosts(plan, any, hosts(), ranges, m, WireFormat::kBf16),
                    2 * gradients + 2 * weights)
              << host;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Groupings, ReductionRoutesTest, testing::ValuesIn(groupings()),
                         name_of_grouping);

TEST(ReductionRoutes, NeedNoMessageOnOneHost) {
  for (int worker = 0; worker < 3; ++worker) {
    const ReductionRoutes routes = routes_of(worker, {7, 7, 7}, toy_ranges(6, 3), 6);
    EXPECT_EQ(routes.host_members, (std::vector<int>{0, 1, 2}));
    EXPECT_TRUE(routes.served.empty() && routes.incoming.empty() && routes.delegates.empty());
    EXPECT_EQ(
        bytes_between_hosts(BucketPlan(toy_layout(), 3, 3), worker, {7, 7, 7}, toy_ranges(6, 3), 6),
        0U);
  }
}

TEST(ReductionRoutes, JoinTheSubtreesOfAHost) {
  // Worker 0 has [0, 1), worker 1 has [1, 3): the host's sum is [0, 3), a whole half of six.
  EXPECT_EQ(routes_of(0, {0, 0, 1, 1}, {{0, 1}, {1, 3}, {3, 5}, {5, 6}}, 6).host_subtrees,
            (std::vector<MicrobatchRange>{{0, 3}}));
  // Workers 0 and 2 are not neighbours, so their partials do not join.
  EXPECT_EQ(routes_of(0, {0, 1, 0, 1}, {{0, 1}, {1, 2}, {2, 3}, {3, 4}}, 4).host_subtrees,
            (std::vector<MicrobatchRange>{{0, 1}, {2, 3}}));
}

TEST(ReductionRoutes, SendTheSameBytesWhateverTheNumberOfWorkersOfAHost) {
  const ArenaLayout layout = toy_layout();
  const std::uint64_t one_arena = layout.size() * sizeof(float);  // half gradients, half weights
  for (const std::vector<int>& hosts : {std::vector<int>{0, 1}, {0, 0, 1, 1}, {0, 0, 0, 1, 1, 1}}) {
    const int num_workers = static_cast<int>(hosts.size());
    const BucketPlan plan(layout, num_workers, 3);
    EXPECT_EQ(bytes_between_hosts(plan, 0, hosts, toy_ranges(12, num_workers), 12), one_arena)
        << num_workers;
  }
}

}  // namespace
}  // namespace gangway::comm
