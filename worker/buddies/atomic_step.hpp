// SPDX-License-Identifier: MIT
// Holds a step that one thread sets and other threads read without a lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

namespace gangway::worker {

class AtomicStep {
 public:
  /// Release store: a thread that reads this step also sees everything written before the call.
  void set(std::optional<std::int64_t> step) noexcept {
    step_.store(step.value_or(kNone), std::memory_order_release);
  }
  [[nodiscard]] std::optional<std::int64_t> get() const noexcept {
    const std::int64_t step = step_.load(std::memory_order_acquire);
    return step == kNone ? std::nullopt : std::optional(step);
  }

 private:
  static constexpr std::int64_t kNone = -1;  // an atomic optional would have a lock
  std::atomic<std::int64_t> step_ = kNone;
};

}  // namespace gangway::worker
