// SPDX-License-Identifier: MIT
// What a device that lags behind spent its time on, by marks in the order of its work: a CUDA
// stream's events (worker/cuda/cuda_marks.hpp). Compute thread; nothing here waits.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace gangway::worker {

/// From one mark to the next.
struct DeviceStretch {
  std::size_t tag = 0;
  double seconds = 0.0;
  bool was_starved = false;  ///< nothing was left to do when the host had come to its mark
};

class DeviceMarks {
 public:
  virtual ~DeviceMarks() = default;
  /// What is put on the device from now on is `tag`'s, until the next mark. The first one begins a
  /// series. While work is recorded for later it marks nothing.
  virtual void mark(std::size_t tag) = 0;
  /// Ends the series.
  virtual void end() = 0;
  /// The oldest series that has ended, in the order of its marks; nothing where the device is still
  /// at it.
  [[nodiscard]] virtual std::optional<std::vector<DeviceStretch>> take() = 0;
};

}  // namespace gangway::worker
