// SPDX-License-Identifier: MIT
// Polls a condition that wakes no waiter: a file lock, another process's file, a library's request.
#pragma once

#include <chrono>
#include <thread>

namespace gangway {

/// Calls `done` at once, and then after each `interval`, until it returns true or `patience` has
/// passed. Sleeps between calls. Any thread. @return the last result of `done`
template <typename Predicate>
[[nodiscard]] bool poll_until(std::chrono::nanoseconds patience, std::chrono::nanoseconds interval,
                              Predicate done) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!done()) {
    if (std::chrono::steady_clock::now() >= end) {
      return false;
    }
    std::this_thread::sleep_for(interval);
  }
  return true;
}

}  // namespace gangway
