// SPDX-License-Identifier: MIT
// Sleeps in place of work. If a sleep takes too long on a busy machine, shortens later sleeps. One
// thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace gangway::bench {

class Sleeper {
 public:
  using Clock = std::chrono::steady_clock;

  /// Sleeps `seconds` from the end of the last work or wait.
  void work(double seconds) {
    end_ += std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    std::this_thread::sleep_until(end_);
    latest_ = std::max(latest_, Clock::now() - end_);
  }
  /// Sleeps `seconds` from now, or from the last work's end if that is just over.
  void work_now(double seconds) {
    // Within this time the thread only overslept, so the next work starts at the planned end.
    constexpr std::chrono::milliseconds kOversleep{3};
    const auto now = Clock::now();
    end_ = now - end_ < kOversleep ? end_ : now;
    work(seconds);
  }
  /// Starts the next work no earlier than `moment`.
  void wait_until(Clock::time_point moment) { end_ = std::max(end_, moment); }
  /// Returns the time at which the last work ends, late wake-ups excluded.
  [[nodiscard]] Clock::time_point moment() const { return end_; }
  /// Returns the largest late wake-up, caused by other load on the machine, and resets it.
  Clock::duration take_latest() { return std::exchange(latest_, Clock::duration::zero()); }

 private:
  Clock::time_point end_ = Clock::now();
  Clock::duration latest_ = Clock::duration::zero();
};

}  // namespace gangway::bench
