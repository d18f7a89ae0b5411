// SPDX-License-Identifier: MIT
// Reads a GPU's gauges periodically on its own thread, so that the compute thread never waits for
// the driver. Owned by the device.
#pragma once

#include <chrono>
#include <condition_variable>
#include <optional>
#include <string>
#include <thread>

#include "base/guarded.hpp"
#include "run/messages/messages.hpp"

namespace gangway::worker {

class GaugeWatch {
 public:
  struct Settings {
    std::string library;  ///< arguments of GpuGauges::open
    std::string bus;
    std::chrono::milliseconds interval{1'000};
  };
  explicit GaugeWatch(Settings settings);
  /// Waits for a reading in progress.
  ~GaugeWatch() = default;
  GaugeWatch(const GaugeWatch&) = delete;
  GaugeWatch& operator=(const GaugeWatch&) = delete;

  /// Returns the last reading. Empty before the first one, and always if the GPU reports none. Any
  /// thread; does not wait.
  [[nodiscard]] std::optional<messages::DeviceGauges> newest() const;

 private:
  void watch(const std::stop_token& stop);

  Settings settings_;
  mutable Mutex mutex_;
  std::condition_variable_any ended_;
  std::optional<messages::DeviceGauges> newest_ GANGWAY_GUARDED_BY(mutex_);
  std::jthread thread_;
};

}  // namespace gangway::worker
