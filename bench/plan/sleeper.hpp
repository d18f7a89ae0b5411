// SPDX-License-Identifier: MIT
// Sleeps in the place of work. Where a sleep takes too long, as on a busy machine, later sleeps are
// shorter. One thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace gangway::bench {

class Sleeper {
 public:
  using Clock = std::chrono::steady_clock;

  /// Right behind the last work, or what was waited for.
  void work(double seconds) {
    end_ += std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    std::this_thread::sleep_until(end_);
    latest_ = std::max(latest_, Clock::now() - end_);
  }
  /// The same, without a wait before it.
  void work_now(double seconds) {
    // What follows so soon has not waited for anything but the end of a sleep.
    constexpr std::chrono::milliseconds kOversleep{3};
    const auto now = Clock::now();
    end_ = now - end_ < kOversleep ? end_ : now;
    work(seconds);
  }
  /// What follows does not begin before `moment`.
  void wait_until(Clock::time_point moment) { end_ = std::max(end_, moment); }
  /// When the last work would be over without oversleeping.
  [[nodiscard]] Clock::time_point moment() const { return end_; }
  /// By how much it came late at most, and forgets that: others had the machine.
  Clock::duration take_latest() { return std::exchange(latest_, Clock::duration::zero()); }

 private:
  Clock::time_point end_ = Clock::now();
  Clock::duration latest_ = Clock::duration::zero();
};

}  // namespace gangway::bench
