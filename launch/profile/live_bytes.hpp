// SPDX-License-Identifier: MIT
// Counts bytes that LibTorch's CPU allocator gives to the constructing thread while this object
// lives. Measures a forward's kept memory and a step's peak. That thread only.
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

  /// Bytes allocated minus bytes freed since construction; negative if older memory was freed.
  [[nodiscard]] std::int64_t now() const { return counter_->live; }
  /// Peak of now().
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
