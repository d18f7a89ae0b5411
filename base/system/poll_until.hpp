// SPDX-License-Identifier: MIT
// Waits for what wakes no waiter: a file's lock, another process's file, a library's request.
#pragma once

#include <chrono>
#include <thread>

namespace gangway {

/// Asks `done` at once, and after each `interval`, until it is true or `patience` has passed.
/// Sleeps between; any thread. @return the last answer
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
