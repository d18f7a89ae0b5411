// SPDX-License-Identifier: MIT
// Puts marks on the compute stream as timed events. Compute thread.
#pragma once

#include <deque>
#include <vector>

#include "comm/cuda/cuda_handles.hpp"
#include "worker/trace/device_marks.hpp"

namespace gangway::worker {

class CudaMarks final : public DeviceMarks {
 public:
  /// @param stream  of all computing; outlives this
  explicit CudaMarks(cudaStream_t stream) : stream_(stream) {}
  void mark(std::size_t tag) override;
  void end() override;
  [[nodiscard]] std::optional<std::vector<DeviceStretch>> take() override;

 private:
  struct Series {
    std::vector<DeviceStretch> stretches;
    std::vector<comm::CudaEvent> events;  // where each begins; in an ended series also its end
  };
  void record();

  cudaStream_t stream_;
  Series open_;
  std::deque<Series> ended_;
  std::vector<comm::CudaEvent> spare_;
};

}  // namespace gangway::worker
