// SPDX-License-Identifier: MIT
#include "launch/plan/machines/measured_links.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"

namespace gangway::launch {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 16U;

/// A message takes the latency, and its bytes beyond the smallest size what the largest took.
void measure(Link& link, const comm::PathFigures& path) {
  const comm::PathPoint& least = path.points.front();
  const comm::PathPoint& most = path.points.back();
  // Who waits has to be woken, too, which a copy from shared memory does not show.
  const bool wakes = path.path != comm::PathKind::kSharedMemory;
  link.latency_seconds = wakes ? least.seconds : std::max(link.latency_seconds, least.seconds);
  if (most.bytes > least.bytes && most.seconds > least.seconds) {
    link.bytes_per_second =
        static_cast<double>(most.bytes - least.bytes) / (most.seconds - least.seconds);
  }
}

}  // namespace

Cluster with_links(Cluster cluster, const comm::Calibration& measured) {
  const auto set = [&measured](Link& link, comm::PathKind kind) {
    const auto path = std::ranges::find(measured.paths, kind, &comm::PathFigures::path);
    const bool is_there = path != measured.paths.end() && !path->points.empty();
    if (is_there) {
      measure(link, *path);
    }
    return is_there;
  };
  if (!set(cluster.inside, comm::PathKind::kSharedMemory)) {
    set(cluster.inside, comm::PathKind::kMessagesWithinHost);
  }
  set(cluster.between, comm::PathKind::kMessagesBetweenHosts);
  return cluster;
}

Cluster with_links_of(Cluster cluster, const std::filesystem::path& from) {
  const std::filesystem::path file =
      std::filesystem::is_directory(from) ? from / "calibration.json" : from;
  const std::optional<std::string> text = read_small_file(file, kMostBytes);
  if (!text) {
    throw ConfigError(fmt::format(
        "--links {}: there is no such file; name the folder of a run of two workers or more "
        "with layout.transport auto, which measures its links when it begins",
        file.string()));
  }
  return with_links(std::move(cluster), comm::parse_calibration(*text));
}

}  // namespace gangway::launch
