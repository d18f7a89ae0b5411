// SPDX-License-Identifier: MIT
// Counts the bytes that LibTorch's CPU allocator has given out to the thread it is made on, while
// it lives: what a forward keeps, and what a step has alive at most. That thread only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

namespace gangway::launch {

class LiveBytes {
 public:
  LiveBytes()
      : counter_(std::make_shared<Counter>()),
        guard_(c10::DebugInfoKind::PROFILER_STATE, counter_) {}

  /// Given out and not given back since the construction; below 0 where older memory was.
  [[nodiscard]] std::int64_t now() const { return counter_->live; }
  /// The most of it.
  [[nodiscard]] std::int64_t most() const { return counter_->most; }

 private:
  struct Counter final : c10::MemoryReportingInfoBase {
    void reportMemoryUsage(void* /*where*/, std::int64_t bytes, std::size_t /*allocated*/,
                           std::size_t /*reserved*/, c10::Device /*device*/) override {
      live += bytes;
      most = std::max(most, live);
    }
    [[nodiscard]] bool memoryProfilingEnabled() const override { return true; }
    std::int64_t live = 0;
    std::int64_t most = 0;
  };
  std::shared_ptr<Counter> counter_;
  c10::DebugInfoGuard guard_;
};

}  // namespace gangway::launch
