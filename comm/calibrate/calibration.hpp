// SPDX-License-Identifier: MIT
// What the paths between workers were found to cost at the start of a run, and the transport that
// follows from it. All workers hold the same numbers, so they choose alike; the numbers are kept in
// the run directory and used again when the run goes on. The choice decides the speed only. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "job/spec.hpp"

namespace gangway::comm {

/// A way from one worker's memory to another's.
enum class PathKind { kSharedMemory, kMessagesWithinHost, kMessagesBetweenHosts };

/// "shared memory".
[[nodiscard]] const char* path_name(PathKind path);

struct PathPoint {
  std::uint64_t bytes = 0;
  double seconds = 0.0;  ///< until they are in the other worker's memory; the best of some tries
  bool operator==(const PathPoint&) const = default;
};

/// Points ascend by size. Latency is what the smallest takes, bandwidth follows from the largest.
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
  std::vector<PathFigures> paths;  ///< a path that cannot be used is not there
  bool operator==(const Calibration&) const = default;
};

/// Which paths there could be between workers on `machines` (by worker, equal where memory could be
/// shared).
[[nodiscard]] std::vector<PathKind> possible_paths(const std::vector<int>& machines);

/// What `layout.transport: auto` means: shared memory within hosts, unless messages bring the
/// largest size that both were measured at in less than half the time; else messages alone.
[[nodiscard]] TransportKind choose_transport(const Calibration& calibration,
                                             const std::vector<int>& machines);

/// "shm (shared memory 1.2 us, 14.3 GB/s; messages within a host 3.1 us, 6.5 GB/s)".
[[nodiscard]] std::string describe(const Calibration& calibration,
                                   const std::vector<int>& machines);

/// As calibration.json; `chosen` is in it for people.
[[nodiscard]] std::string to_json(const Calibration& calibration, TransportKind chosen);
/// @throws ConfigError where `text` is no such file, naming the remedy.
[[nodiscard]] Calibration parse_calibration(std::string_view text);

}  // namespace gangway::comm
