// SPDX-License-Identifier: MIT
#include "plan/machines/cluster.hpp"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "base/text/quantities.hpp"
#include "job/devices/device_facts.hpp"
#include "plan/machines/what_if.hpp"

namespace gangway::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kMixed = R"(
nodes:
  - {name: new, count: 2, devices: 4, speed: 4, memory: 80GiB, price_per_hour: 16}
  - {name: old, devices: 2, speed: [1, 0.5], memory: 512MiB, cores: 2}
links:
  inside: {latency: 2us, bandwidth: 20GB/s, shared: false}
  between: {latency: 0.1ms, bandwidth: 25gbit}
  exceptions:
    - {a: old, b: "new-*", bandwidth: 1gbit}
)";

std::string complaint_of(const std::string& text) {
  try {
    (void)parse_cluster(text, "c.yaml");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no complaint";
}

std::string with_links(const std::string& nodes) {
  return nodes + "links: {inside: {bandwidth: 1GB/s}, between: {bandwidth: 1GB/s}}\n";
}

TEST(Cluster, TakesFromAKindOfDeviceWhatANodeDoesNotSay) {
  const auto node = [](const std::string& more) {
    return parse_cluster("nodes:\n  - {device: h100" + more + "}\n", "c.yaml", GANGWAY_DEVICES)
        .nodes.front();
  };
  EXPECT_THAT(node("").speeds, ElementsAre(80));
  EXPECT_EQ(node("").memory_bytes, std::int64_t{79} << 30);
  EXPECT_TRUE(node("").is_guessed);
  EXPECT_DOUBLE_EQ(node(", launch: 2us").launch_seconds, 2e-6);
  EXPECT_THAT(node(", speed: 400").speeds, ElementsAre(400));
  EXPECT_THROW((void)parse_cluster("nodes:\n  - {device: h1000}\n", "c.yaml", GANGWAY_DEVICES),
               ConfigError);
}

TEST(Cluster, ReadsEveryKindOfDevice) {
  for (const std::string& kind : device_kinds(GANGWAY_DEVICES)) {
    const Cluster cluster =
        parse_cluster("nodes:\n  - {device: " + kind + "}\n", "c.yaml", GANGWAY_DEVICES);
    EXPECT_GT(cluster.nodes.front().speeds.front(), 1.0) << kind;
    EXPECT_GT(cluster.nodes.front().memory_bytes, 0) << kind;
  }
}

TEST(Cluster, HasItsNodesDevicesAndLinks) {
  const Cluster cluster = parse_cluster(kMixed, "c.yaml");
  ASSERT_EQ(cluster.nodes.size(), 3U);
  EXPECT_EQ(cluster.nodes[0].name, "new-0");
  EXPECT_EQ(cluster.nodes[1].name, "new-1");
  EXPECT_EQ(cluster.nodes[2].name, "old");
  EXPECT_EQ(cluster.num_devices(), 10);
  EXPECT_THAT(cluster.nodes[0].speeds, ElementsAre(4, 4, 4, 4));
  EXPECT_THAT(cluster.nodes[2].speeds, ElementsAre(1, 0.5));
  EXPECT_EQ(cluster.nodes[0].memory_bytes, std::int64_t{80} << 30);
  EXPECT_EQ(cluster.nodes[2].memory_bytes, std::int64_t{512} << 20);
  EXPECT_EQ(cluster.nodes[2].cores, 2);
  EXPECT_DOUBLE_EQ(cluster.nodes[1].price_per_hour, 16.0);
  EXPECT_DOUBLE_EQ(cluster.nodes[1].launch_seconds, kLaunchSeconds);
  EXPECT_DOUBLE_EQ(cluster.nodes[2].launch_seconds, 0.0) << "cores";
  EXPECT_EQ(cluster.inside, (Link{2e-6, 20e9, false}));
  EXPECT_EQ(cluster.link(0, 1), (Link{1e-4, 25e9 / 8, true}));
  EXPECT_EQ(cluster.link(2, 0), (Link{1e-4, 1e9 / 8, true}));
  EXPECT_EQ(cluster.link(0, 0), cluster.inside);
}

TEST(Cluster, NamesThePlaceAndTheRemedyOfWhatIsWrong) {
  EXPECT_THAT(complaint_of(with_links("nodes:\n  - {name: a, devises: 2}\n")),
              HasSubstr("c.yaml:2:15: a node has no key 'devises'; did you mean 'devices'?"));
  EXPECT_THAT(complaint_of(with_links("nodes:\n  - {name: a, devices: 0}\n")),
              HasSubstr("c.yaml:2:24: devices: expected a whole number from 1, not '0'"));
  EXPECT_THAT(complaint_of(with_links("nodes:\n  - {memory: 80}\n")),
              HasSubstr("expected the memory of a device, as 80GiB, not '80'"));
  EXPECT_THAT(complaint_of(with_links("nodes:\n  - {devices: 2, speed: [1, 2, 3]}\n")),
              HasSubstr("speed: 3 values for 2 devices"));
  EXPECT_THAT(complaint_of(with_links("nodes:\n  - {speed: -1}\n")), HasSubstr("a number above 0"));
  EXPECT_THAT(complaint_of(with_links("nodes:\n  - {name: a}\n  - {name: a}\n")),
              HasSubstr("two nodes are called 'a'"));
  EXPECT_THAT(complaint_of(with_links("nodes:\n  - {name: a/b}\n")), HasSubstr("a name without"));
  EXPECT_THAT(complaint_of(with_links("nodes:\n  - {count: 70000}\n")),
              HasSubstr("more than 65536 devices"));
  EXPECT_THAT(complaint_of("nodes: 3\n"), HasSubstr("nodes: expected a list of nodes"));
  EXPECT_THAT(complaint_of(""), HasSubstr("expected a map with nodes, links"));
  EXPECT_THAT(complaint_of("nodes: [{devices: 2}]\n"), HasSubstr("links: missing"));
  EXPECT_THAT(complaint_of("nodes: [{devices: 2}]\nlinks: {between: {bandwidth: 1gbit}}\n"),
              HasSubstr("links: inside is missing"));
  EXPECT_THAT(complaint_of("nodes: [{devices: 2}]\nlinks: {inside: {latency: 1us}}\n"),
              HasSubstr("links.inside: bandwidth is missing"));
  EXPECT_THAT(complaint_of("nodes: [{devices: 2}]\nlinks: {inside: {bandwidth: 1gb}}\n"),
              HasSubstr("bandwidth: expected a rate, as 25gbit or 3GB/s, not '1gb'"));
  EXPECT_THAT(complaint_of("nodes: [{}, {name: x}]\nlinks: {between: {bandwidth: 1gbit}, "
                           "exceptions: [{a: x, b: nod0}]}\n"),
              HasSubstr("there is no node 'nod0'; did you mean 'node0'?"));
  EXPECT_THAT(complaint_of("nodes: [{count: 300}]\nlinks: {between: {bandwidth: 1gbit}, "
                           "exceptions: [{a: \"*\", b: \"*\"}]}\n"),
              HasSubstr("an exception for more than 65536 pairs"));
  EXPECT_THAT(complaint_of("nodes: [{name: a\n"), HasSubstr("c.yaml:"));
}

TEST(Cluster, SaysAllThatIsWrongAtOnce) {
  EXPECT_THAT(complaint_of("nodes:\n  - {devices: x, cores: y}\n"),
              ::testing::AllOf(HasSubstr("devices: expected"), HasSubstr("cores: expected")));
}

TEST(WhatIf, SlowsADeviceOrANode) {
  const Cluster cluster = parse_cluster(kMixed, "c.yaml");
  EXPECT_THAT(with_what_if(cluster, "slow:old/1=2").nodes[2].speeds, ElementsAre(1, 0.25));
  EXPECT_THAT(with_what_if(cluster, "slow:old/0=2x").nodes[2].speeds, ElementsAre(0.5, 0.5));
  const Cluster slow = with_what_if(cluster, "slow:new-*=2");
  EXPECT_THAT(slow.nodes[0].speeds, ElementsAre(2, 2, 2, 2));
  EXPECT_THAT(slow.nodes[1].speeds, ElementsAre(2, 2, 2, 2));
}

TEST(WhatIf, LosesANodeAndKeepsTheOthersLinks) {
  const Cluster left = with_what_if(parse_cluster(kMixed, "c.yaml"), "lost:new-0");
  ASSERT_EQ(left.nodes.size(), 2U);
  EXPECT_EQ(left.link(0, 1).bytes_per_second, 1e9 / 8);
}

TEST(WhatIf, ChangesLinks) {
  const Cluster cluster = parse_cluster(kMixed, "c.yaml");
  const Cluster changed = with_what_if(cluster, "link:new-0-new-1=0.1x");
  EXPECT_NEAR(changed.link(0, 1).bytes_per_second, 25e8 / 8, 1.0);
  EXPECT_EQ(changed.link(0, 2), cluster.link(0, 2));
  const Cluster all = with_what_if(cluster, "link:between=0.1");
  EXPECT_NEAR(all.link(0, 1).bytes_per_second, 25e8 / 8, 1.0);
  EXPECT_NEAR(all.link(0, 2).bytes_per_second, 1e8 / 8, 1.0);
  EXPECT_NEAR(with_what_if(cluster, "link:inside=2").inside.bytes_per_second, 40e9, 1.0);
}

TEST(WhatIf, RefusesWhatItDoesNotUnderstand) {
  const Cluster cluster = parse_cluster(kMixed, "c.yaml");
  for (const char* what_if : {"", "slow", "slow:new-0", "slow:new-0=0", "slow:new-0=-1",
                              "lost:", "lost:newer", "slow:old/2=2", "slow:old/x=2",
                              "link:new-0=0.1", "link:new-0-nobody=0.1", "faster:new-0=2"}) {
    EXPECT_THROW((void)with_what_if(cluster, what_if), ConfigError) << what_if;
  }
  EXPECT_THROW((void)with_what_if(with_what_if(cluster, "lost:new-*"), "lost:old"), ConfigError);
}

TEST(Quantities, HaveUnits) {
  EXPECT_DOUBLE_EQ(parse_seconds("30us").value_or(0.0), 30e-6);
  EXPECT_EQ(parse_seconds("0"), 0.0);
  EXPECT_EQ(parse_seconds("30"), std::nullopt);
  EXPECT_EQ(parse_rate("25gbit"), 25e9 / 8);
  EXPECT_EQ(parse_rate("3GB/s"), 3e9);
  EXPECT_EQ(parse_rate("nanGB/s"), std::nullopt);
  EXPECT_EQ(parse_rate("-1gbit"), std::nullopt);
  EXPECT_EQ(parse_bytes("1.5KiB"), 1536);
  EXPECT_EQ(parse_bytes("1e300GiB"), std::nullopt);
  EXPECT_EQ(parse_count("8 "), std::nullopt);
  EXPECT_EQ(parse_amount("1e999"), std::nullopt);
}

}  // namespace
}  // namespace gangway::plan
