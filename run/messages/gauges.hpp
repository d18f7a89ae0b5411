// SPDX-License-Identifier: MIT
// Figures that a worker reads from its device and its process for display. They are parts of
// Progress (run/messages/messages.hpp). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

namespace gangway::messages {

/// Bits for why a GPU's clock is below its highest; several may be set.
struct SlowedBy {
  static constexpr std::uint64_t kPower = 1;     ///< power limit, or the power supply's brake
  static constexpr std::uint64_t kHeat = 2;      ///< heat of the chip or its memory
  static constexpr std::uint64_t kHardware = 4;  ///< hardware slowdown without a stated cause
};

/// Figures of a GPU from its driver, over all processes on it. Nothing: the driver has no such
/// figure.
struct DeviceGauges {
  std::optional<double> busy;  ///< share of recent time in which a kernel ran, 0 to 1
  std::optional<std::uint64_t> used_bytes;
  std::optional<std::uint64_t> total_bytes;
  std::optional<double> celsius;
  std::optional<double> watts;
  std::optional<double> clock;             ///< clock of its multiprocessors / their highest: 0 to 1
  std::optional<std::uint64_t> slowed_by;  ///< bits of SlowedBy; 0: not slowed
  static auto fields(auto& it) {
    return std::tie(it.busy, it.used_bytes, it.total_bytes, it.celsius, it.watts, it.clock,
                    it.slowed_by);
  }
  bool operator==(const DeviceGauges&) const = default;
};

/// A worker's recent use of memory. "Allocator" is LibTorch's GPU allocator; on a CPU it is the
/// process's heap, which LibTorch's tensors come from.
struct MemoryFigures {
  std::uint64_t resident_bytes = 0;   ///< the process's memory on its host
  std::uint64_t allocated_bytes = 0;  ///< given out by the allocator
  std::uint64_t reserved_bytes = 0;   ///< held by the allocator: allocated, and kept for reuse
  /// Peak so far: of resident_bytes on a CPU, of reserved_bytes on a GPU.
  std::uint64_t peak_bytes = 0;
  std::uint64_t retries = 0;  ///< GPU only: times it freed its kept memory to continue, or failed
  /// Use, by all processes, of the tightest memory limit: the GPU's, a control group's or the
  /// host's.
  std::uint64_t used_bytes = 0;
  std::uint64_t limit_bytes = 0;  ///< that limit; 0: unknown
  std::string limit;              ///< "GPU", "control group" or "host"
  static auto fields(auto& it) {
    return std::tie(it.resident_bytes, it.allocated_bytes, it.reserved_bytes, it.peak_bytes,
                    it.retries, it.used_bytes, it.limit_bytes, it.limit);
  }
  bool operator==(const MemoryFigures&) const = default;
};

}  // namespace gangway::messages
