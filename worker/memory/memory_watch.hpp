// SPDX-License-Identifier: MIT
// A worker's memory and its CPU quota, read now and then. Compute thread.
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

  /// The process's memory, as it was a moment ago: to ask for it costs as much as a small network's
  /// layer, and of a heap in many pieces more than that.
  [[nodiscard]] const messages::MemoryFigures& now();
  /// The next look is at how it is then.
  void read_anew() { resident_read_ = rest_due_ = {}; }
  /// Adds what has come to the quota's counts since the last call.
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
  QuotaPeriods quota_;       // as it was read last
  QuotaPeriods told_quota_;  // as it was told last
  Clock::time_point resident_read_;
  Clock::time_point rest_due_;
};

}  // namespace gangway::worker
