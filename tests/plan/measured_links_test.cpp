// SPDX-License-Identifier: MIT
#include "plan/machines/measured_links.hpp"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "plan/ranking/make_plan.hpp"
#include "tests/plan/sample_plan.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::plan {
namespace {

using comm::PathKind;

comm::PathFigures path(PathKind kind, double latency, double bytes_per_second) {
  constexpr std::uint64_t kMost = 1'000'008;
  return {.path = kind,
          .points = {{.bytes = 8, .seconds = latency},
                     {.bytes = kMost, .seconds = latency + 1e6 / bytes_per_second}}};
}

TEST(MeasuredLinks, TakeThePlaceOfWhatAClusterFileSays) {
  const Cluster measured = with_links(
      sample_cluster(2, 2), {.paths = {path(PathKind::kMessagesWithinHost, 3e-6, 6e9),
                                       path(PathKind::kSharedMemory, 1e-6, 12e9),
                                       path(PathKind::kMessagesBetweenHosts, 50e-6, 118e6)}});
  EXPECT_NEAR(measured.inside.latency_seconds, 1e-6, 1e-12);
  EXPECT_NEAR(measured.inside.bytes_per_second, 12e9, 1e3);
  EXPECT_NEAR(measured.between.latency_seconds, 50e-6, 1e-12);
  EXPECT_NEAR(measured.between.bytes_per_second, 118e6, 1e3);
}

TEST(MeasuredLinks, LeaveWhatNobodyMeasured) {
  const Cluster before = sample_cluster(2, 2);
  const Cluster measured =
      with_links(before, {.paths = {path(PathKind::kMessagesWithinHost, 3e-6, 6e9)}});
  EXPECT_NEAR(measured.inside.bytes_per_second, 6e9, 1e3);
  EXPECT_EQ(measured.between, before.between);
  EXPECT_EQ(measured.nodes, before.nodes);
}

TEST(MeasuredLinks, AreThoseThatARunHasLeft) {
  const testing::ScratchFolder folder;
  const comm::Calibration left{.paths = {path(PathKind::kMessagesBetweenHosts, 50e-6, 118e6)}};
  std::ofstream(folder.path() / "calibration.json")
      << comm::to_json(left, TransportKind::kHierarchical);
  EXPECT_EQ(with_links_of(sample_cluster(2, 2), folder.path()),
            with_links(sample_cluster(2, 2), left));
  EXPECT_EQ(with_links_of(sample_cluster(2, 2), folder.path() / "calibration.json"),
            with_links(sample_cluster(2, 2), left));
}

comm::LinkTable table_of(const std::vector<std::string>& hosts) {
  const auto between = [](int a, int b, double bytes_per_second) {
    return comm::HostLink{
        .a = a,
        .b = b,
        .figures = {{path(PathKind::kMessagesBetweenHosts, 50e-6, bytes_per_second)}}};
  };
  const auto inside = [](int host, double bytes_per_second) {
    return comm::HostLink{
        .a = host, .b = host, .figures = {{path(PathKind::kSharedMemory, 1e-6, bytes_per_second)}}};
  };
  return {.hosts = hosts,
          .links = {inside(0, 12e9), between(0, 1, 118e6), between(0, 2, 11e6), inside(1, 8e9),
                    between(1, 2, 100e6)}};
}

TEST(MeasuredLinks, OfEveryPairAreExceptions) {
  Cluster cluster = sample_cluster(4, 2);
  const std::vector<std::string> hosts{cluster.nodes[2].name, cluster.nodes[0].name, "elsewhere"};
  const Cluster measured = with_links(cluster, table_of(hosts));
  EXPECT_NEAR(measured.link(0, 2).bytes_per_second, 118e6, 1e3) << "the only pair of nodes";
  EXPECT_EQ(measured.exceptions.size(), 1U);
  EXPECT_NEAR(measured.between.bytes_per_second, 118e6, 1e3) << "of those that nobody measured";
  EXPECT_NEAR(measured.inside.bytes_per_second, 8e9, 1e3) << "of the slowest";
  EXPECT_THROW((void)with_links(cluster, table_of({"x", "y", "z"})), ConfigError);
}

TEST(MeasuredLinks, OfAProfileGiveTheHostsToPlanFor) {
  Profile profile = sample_profile(sample_job(4));
  EXPECT_EQ(profiled_hosts(profile), profiled_host(profile));
  profile.links = table_of({"a", "b", "c"});
  EXPECT_EQ(parse_profile(to_json(profile), "p"), profile);
  const Cluster hosts = profiled_hosts(profile);
  ASSERT_EQ(hosts.nodes.size(), 3U);
  EXPECT_EQ(hosts.nodes[1].name, "b");
  EXPECT_EQ(hosts.nodes[1].speeds, profiled_host(profile).nodes[0].speeds);
  EXPECT_NEAR(hosts.link(0, 2).bytes_per_second, 11e6, 1e3);
  EXPECT_NEAR(hosts.link(1, 2).bytes_per_second, 100e6, 1e3);
  EXPECT_NEAR(hosts.between.bytes_per_second, 100e6, 1e3) << "the median";

  const testing::ScratchFolder folder;
  const std::filesystem::path file = folder.path() / "job.profile.json";
  std::ofstream(file) << to_json(profile);
  EXPECT_EQ(with_links_of(hosts, file), hosts);
  profile.links.reset();
  std::ofstream(file) << to_json(profile);
  EXPECT_THROW((void)with_links_of(hosts, file), ConfigError);
}

TEST(MeasuredLinks, RefuseAFolderWithoutThem) {
  const testing::ScratchFolder folder;
  EXPECT_THROW((void)with_links_of(sample_cluster(2, 2), folder.path()), ConfigError);
  std::ofstream(folder.path() / "calibration.json") << "no figures";
  EXPECT_THROW((void)with_links_of(sample_cluster(2, 2), folder.path()), ConfigError);
}

}  // namespace
}  // namespace gangway::plan
