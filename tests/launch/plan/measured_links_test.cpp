// SPDX-License-Identifier: MIT
#include "launch/plan/machines/measured_links.hpp"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "tests/launch/plan/sample_plan.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::launch {
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

TEST(MeasuredLinks, RefuseAFolderWithoutThem) {
  const testing::ScratchFolder folder;
  EXPECT_THROW((void)with_links_of(sample_cluster(2, 2), folder.path()), ConfigError);
  std::ofstream(folder.path() / "calibration.json") << "no figures";
  EXPECT_THROW((void)with_links_of(sample_cluster(2, 2), folder.path()), ConfigError);
}

}  // namespace
}  // namespace gangway::launch
