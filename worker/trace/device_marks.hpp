// SPDX-License-Identifier: MIT
// Interface that measures a lagging device's time by marks in the order of its work: a CUDA
// stream's events (worker/cuda/cuda_marks.hpp). Compute thread; nothing here waits.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace gangway::worker {

/// The time from one mark to the next.
struct DeviceStretch {
  std::size_t tag = 0;
  double seconds = 0.0;
  bool was_starved = false;  ///< the device was idle when the host set the mark
};

class DeviceMarks {
 public:
  virtual ~DeviceMarks() = default;
  /// Assigns work put on the device from now on to `tag`, until the next mark. The first mark
  /// begins a series. Does nothing while work is recorded for later.
  virtual void mark(std::size_t tag) = 0;
  /// Ends the series.
  virtual void end() = 0;
  /// Returns the oldest ended series, in the order of its marks; nothing if the device is not past
  /// it.
  [[nodiscard]] virtual std::optional<std::vector<DeviceStretch>> take() = 0;
};

}  // namespace gangway::worker
