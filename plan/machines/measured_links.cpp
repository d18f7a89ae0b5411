// SPDX-License-Identifier: MIT
#include "plan/machines/measured_links.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "plan/profiles/profile.hpp"

namespace gangway::plan {
namespace {

constexpr std::size_t kMostBytes = std::size_t{16} << 20U;

/// Sets latency from the smallest message, and bandwidth from the extra time of the largest.
void measure(Link& link, const comm::PathFigures& path) {
  const comm::PathPoint& least = path.points.front();
  const comm::PathPoint& most = path.points.back();
  // A copy from shared memory does not show the time to wake the waiting thread.
  const bool wakes = path.path != comm::PathKind::kSharedMemory;
  link.latency_seconds = wakes ? least.seconds : std::max(link.latency_seconds, least.seconds);
  if (most.bytes > least.bytes && most.seconds > least.seconds) {
    link.bytes_per_second =
        static_cast<double>(most.bytes - least.bytes) / (most.seconds - least.seconds);
  }
}

/// Sets `link` from the path of this kind. @return whether `measured` has such a path
bool set(Link& link, const comm::Calibration& measured, comm::PathKind kind) {
  const auto path = std::ranges::find(measured.paths, kind, &comm::PathFigures::path);
  const bool is_there = path != measured.paths.end() && !path->points.empty();
  if (is_there) {
    measure(link, *path);
  }
  return is_there;
}

void set_inside(Link& link, const comm::Calibration& measured) {
  if (!set(link, measured, comm::PathKind::kSharedMemory)) {
    set(link, measured, comm::PathKind::kMessagesWithinHost);
  }
}

/// Returns the node of each host of the table; -1: none.
std::vector<int> nodes_of_hosts(const Cluster& cluster, const std::vector<std::string>& hosts) {
  std::vector<int> nodes;
  for (const std::string& host : hosts) {
    const auto node = std::ranges::find(cluster.nodes, host, &ClusterNode::name);
    nodes.push_back(node == cluster.nodes.end() ? -1
                                                : static_cast<int>(node - cluster.nodes.begin()));
  }
  if (std::ranges::all_of(nodes, [](int node) { return node < 0; })) {
    throw ConfigError(fmt::format(
        "--links: {} were measured, and no node of the cluster has such a name; name its "
        "nodes as the hostfile does",
        fmt::join(hosts, ", ")));
  }
  return nodes;
}

bool is_slower(const Link& link, const Link& other) {
  return link.bytes_per_second < other.bytes_per_second;
}

}  // namespace

Cluster with_links(Cluster cluster, const comm::Calibration& measured) {
  set_inside(cluster.inside, measured);
  set(cluster.between, measured, comm::PathKind::kMessagesBetweenHosts);
  return cluster;
}

Cluster with_links(Cluster cluster, const comm::LinkTable& measured) {
  const std::vector<int> nodes = nodes_of_hosts(cluster, measured.hosts);
  std::vector<Link> inside;
  std::vector<Link> between;
  for (const comm::HostLink& one : measured.links) {
    const int node = nodes[static_cast<std::size_t>(one.a)];
    const int other = nodes[static_cast<std::size_t>(one.b)];
    if (node < 0 || other < 0) {
      continue;
    }
    if (node == other) {
      set_inside(inside.emplace_back(cluster.inside), one.figures);
      continue;
    }
    Link link = cluster.between;
    if (set(link, one.figures, comm::PathKind::kMessagesBetweenHosts)) {
      cluster.exceptions[std::minmax(node, other)] = link;
      between.push_back(link);
    }
  }
  if (!inside.empty()) {
    cluster.inside = *std::ranges::min_element(inside, is_slower);
  }
  if (!between.empty()) {
    const auto median = between.begin() + static_cast<std::ptrdiff_t>(between.size() / 2);
    std::ranges::nth_element(between, median, is_slower);
    cluster.between = *median;
  }
  return cluster;
}

Cluster with_links_of(Cluster cluster, const std::filesystem::path& from) {
  const std::filesystem::path file =
      std::filesystem::is_directory(from) ? from / "calibration.json" : from;
  const std::optional<std::string> text = read_small_file(file, kMostBytes);
  if (!text) {
    throw ConfigError(fmt::format(
        "--links {}: there is no such file; name the folder of a run of two workers or more "
        "with layout.transport auto, which measures its links when it begins, or a profile made "
        "with "
        "--hostfile",
        file.string()));
  }
  if (text->find("\"gangway_profile\"") == std::string::npos) {
    return with_links(std::move(cluster), comm::parse_calibration(*text));
  }
  const Profile profile = parse_profile(*text, file.string());
  if (!profile.links) {
    throw ConfigError(fmt::format(
        "--links {}: a profile of one host, which has no links; make it with `gangway profile "
        "--hostfile`",
        file.string()));
  }
  return with_links(std::move(cluster), *profile.links);
}

}  // namespace gangway::plan
