// SPDX-License-Identifier: MIT
// Reads the gauges of a GPU now and then, so that the compute thread waits for no driver. Owned by
// the device that computes there.
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
    std::string library;  ///< as GpuGauges::open has it, like `bus`
    std::string bus;
    std::chrono::milliseconds interval{1'000};
  };
  explicit GaugeWatch(Settings settings);
  /// Waits for a reading that is under way.
  ~GaugeWatch();
  GaugeWatch(const GaugeWatch&) = delete;
  GaugeWatch& operator=(const GaugeWatch&) = delete;

  /// The last reading; nothing before the first, and for good where nobody tells. Any thread; does
  /// not wait.
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
