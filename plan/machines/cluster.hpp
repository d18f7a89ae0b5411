// SPDX-License-Identifier: MIT
// The machines that a plan is for: nodes, their devices, and the links inside and between them,
// from a YAML file (docs/planning.md). No machine has to be there. Pure but for reading the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gangway::plan {

/// A way for messages, each direction by itself.
struct Link {
  double latency_seconds = 0.0;
  double bytes_per_second = 1e9;
  /// Inside: whether all devices of the node share its bandwidth. Between: whether those of a node
  /// share one such link, or have one each.
  bool is_shared = true;
  bool operator==(const Link&) const = default;
};

struct ClusterNode {
  std::string name;               ///< "node-3"
  std::vector<double> speeds;     ///< by device, of the one that was profiled; 2 is twice as fast
  std::int64_t memory_bytes = 0;  ///< of a device; 0: unknown, everything fits
  /// Its devices are cores of one host, so many, which workers' other threads need too; 0: devices
  /// work undisturbed.
  int cores = 0;
  double price_per_hour = 0.0;  ///< of the node; 0: unknown
  /// What no kernel is shorter than, launch included; 0: they cost what the profile says.
  double launch_seconds = 0.0;
  bool is_guessed = false;  ///< costs are another device's, divided by its speed
  bool operator==(const ClusterNode&) const = default;
  [[nodiscard]] int num_devices() const { return static_cast<int>(speeds.size()); }
};

struct Cluster {
  std::string name;
  std::vector<ClusterNode> nodes;
  Link inside;   ///< between devices of a node
  Link between;  ///< between nodes
  /// Links of pairs of nodes that are not as the others, by both numbers, the lower first.
  std::map<std::pair<int, int>, Link> exceptions;
  bool operator==(const Cluster&) const = default;

  [[nodiscard]] int num_devices() const;
  [[nodiscard]] const Link& link(int node, int other) const;
};

/// Seconds of a kernel launch on a device that is no core, as a GPU: 4 to 6 us on a desktop's GPU
/// (susun-blog.com/blog/pegainfer-3-cuda-graph). A guess until the job is profiled on the device.
inline constexpr double kLaunchSeconds = 4.5e-6;

/// "cluster.yaml" → Cluster. @param name  of the file, for messages
/// @param devices  folder with a file a kind of device, for nodes that say `device: h100`
/// @throws ConfigError with a line for each thing that is wrong, with its place and the remedy
[[nodiscard]] Cluster parse_cluster(std::string_view text, const std::string& name,
                                    const std::filesystem::path& devices = {});
[[nodiscard]] Cluster read_cluster(const std::filesystem::path& file,
                                   const std::filesystem::path& devices = {});

/// Numbers of the nodes that `pattern` names: a name, or a prefix and '*'.
/// @throws ConfigError where there is none, with the nearest name
[[nodiscard]] std::vector<int> nodes_named(const Cluster& cluster, const std::string& pattern);

}  // namespace gangway::plan
