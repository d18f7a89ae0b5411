// SPDX-License-Identifier: MIT
// What a worker reads off its device and its process for people: parts of Progress
// (run/messages/messages.hpp). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

namespace gangway::messages {

/// Why a GPU's clock is lower than it could be; several may hold.
struct SlowedBy {
  static constexpr std::uint64_t kPower = 1;     ///< its power limit, or the supply's brake
  static constexpr std::uint64_t kHeat = 2;      ///< of the chip or its memory
  static constexpr std::uint64_t kHardware = 4;  ///< one of both, or another; it does not say
};

/// What a GPU's driver tells of it, for all processes on it; nothing: the driver has no such
/// figure.
struct DeviceGauges {
  std::optional<double> busy;  ///< share of the last moments in which some kernel ran, 0 to 1
  std::optional<std::uint64_t> used_bytes;
  std::optional<std::uint64_t> total_bytes;
  std::optional<double> celsius;
  std::optional<double> watts;
  std::optional<double> clock;  ///< of its multiprocessors, of the highest that they have: 0 to 1
  std::optional<std::uint64_t> slowed_by;  ///< SlowedBy; 0: it is not
  static auto fields(auto& it) {
    return std::tie(it.busy, it.used_bytes, it.total_bytes, it.celsius, it.watts, it.clock,
                    it.slowed_by);
  }
  bool operator==(const DeviceGauges&) const = default;
};

/// A worker's memory, as it was a moment ago. "Allocator" is LibTorch's of the GPU; on a CPU the
/// heap of the process, which LibTorch's tensors come from.
struct MemoryFigures {
  std::uint64_t resident_bytes = 0;   ///< of the process, in its host's memory
  std::uint64_t allocated_bytes = 0;  ///< given out by the allocator
  std::uint64_t reserved_bytes = 0;   ///< what the allocator has: that, and what it keeps for more
  /// Most so far: of a process on a CPU resident, on a GPU reserved.
  std::uint64_t peak_bytes = 0;
  std::uint64_t retries = 0;  ///< times so far that it gave back what it kept, or failed; of GPUs
  /// Use, by all processes, of the limit that has least left: the GPU's, a control group's or the
  /// host's.
  std::uint64_t used_bytes = 0;
  std::uint64_t limit_bytes = 0;  ///< 0: not known
  std::string limit;              ///< "GPU", "control group" or "host"
  static auto fields(auto& it) {
    return std::tie(it.resident_bytes, it.allocated_bytes, it.reserved_bytes, it.peak_bytes,
                    it.retries, it.used_bytes, it.limit_bytes, it.limit);
  }
  bool operator==(const MemoryFigures&) const = default;
};

}  // namespace gangway::messages
