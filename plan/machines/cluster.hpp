// SPDX-License-Identifier: MIT
// Describes the machines of a plan: nodes, their devices, and links, read from a YAML file
// (docs/planning.md). The machines need not exist. Pure except for reading the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gangway::plan {

/// A link for messages. Each direction has the full bandwidth.
struct Link {
  double latency_seconds = 0.0;
  double bytes_per_second = 1e9;
  /// `inside`: whether all devices of a node share its bandwidth. `between`: whether the devices of
  /// a node share one such link; otherwise each device has its own.
  bool is_shared = true;
  bool operator==(const Link&) const = default;
};

struct ClusterNode {
  std::string name;               ///< "node-3"
  std::vector<double> speeds;     ///< by device, relative to the profiled device; 2: twice as fast
  std::int64_t memory_bytes = 0;  ///< of a device; 0: unknown, everything fits
  /// Cores of the host, if its devices are cores that the workers' other threads need too; 0:
  /// devices work undisturbed.
  int cores = 0;
  double price_per_hour = 0.0;  ///< of the node; 0: unknown
  /// Minimum seconds of a kernel, launch included; 0: kernels cost what the profile says.
  double launch_seconds = 0.0;
  bool is_guessed = false;  ///< costs are the profiled device's, divided by the speed
  bool operator==(const ClusterNode&) const = default;
  [[nodiscard]] int num_devices() const { return static_cast<int>(speeds.size()); }
};

struct Cluster {
  std::string name;
  std::vector<ClusterNode> nodes;
  Link inside;   ///< between devices of a node
  Link between;  ///< between nodes
  /// Links of node pairs that differ from the general one. Key: node numbers, the lower first.
  std::map<std::pair<int, int>, Link> exceptions;
  bool operator==(const Cluster&) const = default;

  [[nodiscard]] int num_devices() const;
  /// Returns the speed of the fastest device.
  [[nodiscard]] double fastest_speed() const;
  [[nodiscard]] const Link& link(int node, int other) const;
};

/// Seconds of a kernel launch on a GPU: 4 to 6 us on a desktop's GPU
/// (susun-blog.com/blog/pegainfer-3-cuda-graph). A guess until the job is profiled on the device.
inline constexpr double kLaunchSeconds = 4.5e-6;

/// Parses the text of a cluster file. @param name  of the file, for messages
/// @param devices  folder with a file for each kind of device, for nodes with `device: h100`
/// @throws ConfigError with a line for each problem: its place and the remedy
[[nodiscard]] Cluster parse_cluster(std::string_view text, const std::string& name,
                                    const std::filesystem::path& devices = {});
[[nodiscard]] Cluster read_cluster(const std::filesystem::path& file,
                                   const std::filesystem::path& devices = {});

/// Returns the numbers of the nodes that `pattern` names: a name, or a prefix and '*'.
/// @throws ConfigError with the nearest name if no node matches
[[nodiscard]] std::vector<int> nodes_named(const Cluster& cluster, const std::string& pattern);

}  // namespace gangway::plan
