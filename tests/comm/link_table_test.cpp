// SPDX-License-Identifier: MIT
#include "comm/calibrate/link_table.hpp"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "comm/calibrate/measure_links.hpp"
#include "comm/transport/loopback_transport.hpp"
#include "tests/comm/spawn_ranks.hpp"
#include "tests/comm/toy_job.hpp"

namespace gangway::comm {
namespace {

using std::chrono_literals::operator""ms;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(LinkTable, HasRoundsInWhichNobodyMeasuresTwice) {
  for (int hosts = 1; hosts <= 17; ++hosts) {
    std::set<std::pair<int, int>> all;
    const auto rounds = rounds_of_pairs(hosts);
    for (const auto& round : rounds) {
      std::set<int> busy;
      for (const auto& [a, b] : round) {
        EXPECT_LT(a, b);
        EXPECT_LT(b, hosts);
        EXPECT_TRUE(busy.insert(a).second && busy.insert(b).second) << hosts << " hosts";
        EXPECT_TRUE(all.insert({a, b}).second) << hosts << " hosts";
      }
    }
    EXPECT_EQ(static_cast<int>(all.size()), hosts * (hosts - 1) / 2);
    EXPECT_EQ(static_cast<int>(rounds.size()), hosts - 1 + hosts % 2);
  }
}

TEST(LinkTable, SurvivesItsText) {
  const Calibration figures{
      {{.path = PathKind::kMessagesBetweenHosts, .points = {{4096, 1.0 / 3.0}, {65536, 0.5}}}}};
  const LinkTable table{.hosts = {"a", "user@b", "10.0.0.3"},
                        .links = {{0, 0, figures}, {0, 2, figures}}};
  EXPECT_EQ(parse_link_table(to_json(table)), table);
}

TEST(LinkTable, RefusesWhatIsNone) {
  for (
      const char* text :
      {"", "{}", "[]", R"({"version": 2, "hosts": [], "links": []})",
       R"({"version": 1, "hosts": ["a"], "links": [{"a": 0, "b": 1, "figures": {"version": 1, "paths": []}}]})",
       R"({"version": 1, "hosts": ["a", "b"], "links": [{"a": 1, "b": 0, "figures": {"version": 1, "paths": []}}]})",
       R"({"version": 1, "hosts": ["a", "b"], "links": [{"a": 0, "b": 1, "figures": {}}]})"}) {
    EXPECT_THROW((void)parse_link_table(text), ConfigError) << text;
  }
}

/// Returns worker 0's table for workers on these machines.
LinkTable measured(const std::vector<int>& machines) {
  const int num_workers = static_cast<int>(machines.size());
  LoopbackHub hub(num_workers);
  const std::string token = fresh_token();
  std::vector<std::string> names;
  for (const int machine : machines) {
    names.push_back("host" + std::to_string(machine));
  }
  LinkTable table;
  spawn_ranks(num_workers, [&](int worker) {
    LoopbackTransport transport(hub, worker);
    const LinkTable found = measure_links(
        transport, {.machines = machines, .names = names, .token = token, .budget = 20ms});
    if (worker == 0) {
      table = found;
    } else {
      EXPECT_THAT(found.hosts, IsEmpty());
    }
  });
  return table;
}

std::vector<std::pair<int, int>> pairs_of(const LinkTable& table) {
  std::vector<std::pair<int, int>> pairs;
  for (const HostLink& link : table.links) {
    pairs.emplace_back(link.a, link.b);
  }
  return pairs;
}

TEST(MeasureLinks, OfEveryPairOfHostsAndInsideThoseWithTwoWorkers) {
  const LinkTable table = measured({0, 0, 2, 3, 3, 5});
  EXPECT_THAT(table.hosts, ElementsAre("host0", "host2", "host3", "host5"));
  using Pair = std::pair<int, int>;
  EXPECT_THAT(pairs_of(table), ElementsAre(Pair(0, 0), Pair(0, 1), Pair(0, 2), Pair(0, 3),
                                           Pair(1, 2), Pair(1, 3), Pair(2, 2), Pair(2, 3)));
  for (const HostLink& link : table.links) {
    ASSERT_FALSE(link.figures.paths.empty());
    for (const PathFigures& path : link.figures.paths) {
      EXPECT_EQ(path.path == PathKind::kMessagesBetweenHosts, link.a != link.b);
      EXPECT_GT(path.points.front().seconds, 0.0);
    }
  }
}

TEST(MeasureLinks, OfOneHost) {
  EXPECT_THAT(pairs_of(measured({0})), IsEmpty());
  EXPECT_EQ(measured({0, 0, 0}).links.size(), 1U);
}

}  // namespace
}  // namespace gangway::comm
