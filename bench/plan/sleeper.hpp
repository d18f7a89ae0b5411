// SPDX-License-Identifier: MIT
// Somebody who sleeps in the place of work. What is slept too long, as on a machine that does
// other work, is made up for by what follows. One thread.
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
  /// The same, where nobody has said what was waited for.
  void work_now(double seconds) {
    // What follows so soon has not waited for anything but the end of a sleep.
    constexpr std::chrono::milliseconds kOversleep{3};
    const auto now = Clock::now();
    end_ = now - end_ < kOversleep ? end_ : now;
    work(seconds);
  }
  /// What follows does not begin before `moment`.
  void wait_until(Clock::time_point moment) { end_ = std::max(end_, moment); }
  /// When the last work was over, had nobody overslept.
  [[nodiscard]] Clock::time_point moment() const { return end_; }
  /// By how much it came late at most, and forgets that: others had the machine.
  Clock::duration take_latest() { return std::exchange(latest_, Clock::duration::zero()); }

 private:
  Clock::time_point end_ = Clock::now();
  Clock::duration latest_ = Clock::duration::zero();
};

}  // namespace gangway::bench
