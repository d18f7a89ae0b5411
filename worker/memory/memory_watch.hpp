// SPDX-License-Identifier: MIT
// Reads a worker's memory and CPU quota periodically. Compute thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "base/system/control_groups.hpp"
#include "run/messages/messages.hpp"
#include "worker/step/compute_device.hpp"

namespace gangway::worker {

class MemoryWatch {
 public:
  struct Places {
    std::filesystem::path processes = "/proc";
    std::filesystem::path groups = kControlGroups;
  };
  /// @param device  outlives it
  MemoryWatch(const ComputeDevice& device, const Places& places);

  /// Returns the process's memory at a recent reading. A reading costs as much as a small network's
  /// layer, and more for a fragmented heap.
  [[nodiscard]] const messages::MemoryFigures& now();
  /// Makes the next call of now() read the memory again.
  void read_anew() { resident_read_ = rest_due_ = {}; }
  /// Adds the quota's counts since the last call.
  void tell_quota(messages::StepFigures& figures);

 private:
  using Clock = std::chrono::steady_clock;
  void read_resident();
  void read_rest();

  const ComputeDevice& device_;
  std::filesystem::path processes_;
  std::vector<std::filesystem::path> cpu_groups_;
  std::vector<std::filesystem::path> memory_groups_;
  messages::MemoryFigures figures_;
  QuotaPeriods quota_;           // at the last reading
  QuotaPeriods reported_quota_;  // at the last report
  Clock::time_point resident_read_;
  Clock::time_point rest_due_;
};

}  // namespace gangway::worker
