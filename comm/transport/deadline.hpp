// SPDX-License-Identifier: MIT
// A point in monotonic time after which a wait fails.
#pragma once

#include <chrono>

namespace gangway::comm {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;
  explicit Deadline(std::chrono::milliseconds from_now)
      : end_(Clock::now() + from_now), allowed_(from_now) {}
  [[nodiscard]] bool expired() const { return Clock::now() >= end_; }
  [[nodiscard]] Clock::time_point end() const { return end_; }
  [[nodiscard]] double allowed_seconds() const {
    return std::chrono::duration<double>(allowed_).count();
  }

 private:
  Clock::time_point end_;
  std::chrono::milliseconds allowed_;
};

}  // namespace gangway::comm
