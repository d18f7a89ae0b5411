// SPDX-License-Identifier: MIT
// Times work on a compute device: by the clock on a CPU, by marks on a device that runs
// asynchronously. Compute thread.
#pragma once

#include <chrono>
#include <memory>

#include "worker/step/compute_device.hpp"

namespace gangway::launch {

class DeviceTime {
 public:
  explicit DeviceTime(worker::ComputeDevice& device)
      : device_(device), marks_(device.make_marks()) {}

  /// Runs the work, waits for it, and returns its seconds.
  template <typename Work>
  [[nodiscard]] double of(const Work& work) {
    if (marks_ == nullptr) {
      const auto begin = std::chrono::steady_clock::now();
      work();
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }
    marks_->mark(0);
    work();
    marks_->end();
    device_.wait();
    return marks_->take().value().front().seconds;
  }

 private:
  worker::ComputeDevice& device_;
  std::unique_ptr<worker::DeviceMarks> marks_;  // null: measured by the clock
};

}  // namespace gangway::launch
