// SPDX-License-Identifier: MIT
// Holds the measured costs of the paths between workers, and chooses the transport from them. All
// workers hold equal numbers, so they choose alike. The run directory keeps them for a resumed run.
// The choice changes the speed only. Called by comm/calibrate/calibrator.hpp. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "job/spec.hpp"

namespace gangway::comm {

/// A path from one worker's memory to another worker's.
enum class PathKind { kSharedMemory, kMessagesWithinHost, kMessagesBetweenHosts };

/// The path's name for people, such as "shared memory".
[[nodiscard]] const char* path_name(PathKind path);

struct PathPoint {
  std::uint64_t bytes = 0;
  double seconds = 0.0;  ///< until they are in the other worker's memory; best of several tries
  bool operator==(const PathPoint&) const = default;
};

/// One path's points, ascending by size. The smallest gives the latency, the largest the bandwidth.
struct PathFigures {
  PathKind path = PathKind::kSharedMemory;
  std::vector<PathPoint> points;
  [[nodiscard]] double latency_seconds() const { return points.front().seconds; }
  [[nodiscard]] double bytes_per_second() const {
    return static_cast<double>(points.back().bytes) / points.back().seconds;
  }
  bool operator==(const PathFigures&) const = default;
};

struct Calibration {
  std::vector<PathFigures> paths;  ///< only the paths that can be used
  bool operator==(const Calibration&) const = default;
};

/// Returns the paths that may exist between the workers.
/// @param machines  by worker; equal values: the workers may share memory
[[nodiscard]] std::vector<PathKind> possible_paths(const std::vector<int>& machines);

/// Resolves `layout.transport: auto`: shared memory within hosts, unless messages took less than
/// half its time at the largest size measured for both; then messages alone.
[[nodiscard]] TransportKind choose_transport(const Calibration& calibration,
                                             const std::vector<int>& machines);

/// Text: "shm (shared memory 1.2 us, 14.3 GB/s; messages within a host 3.1 us, 6.5 GB/s)".
[[nodiscard]] std::string describe(const Calibration& calibration,
                                   const std::vector<int>& machines);

/// Returns the text of calibration.json. It includes `chosen` only for people to read.
[[nodiscard]] std::string to_json(const Calibration& calibration, TransportKind chosen);
/// @throws ConfigError, naming the remedy, if `text` is not such a file.
[[nodiscard]] Calibration parse_calibration(std::string_view text);

}  // namespace gangway::comm
