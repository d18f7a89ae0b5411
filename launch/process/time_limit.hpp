// SPDX-License-Identifier: MIT
// The time that a command of several children has: when it is over the process is told to end as by
// a SIGTERM, which it takes for that. Used by `gangway bench node`, main thread.
#pragma once

#include <atomic>
#include <chrono>
#include <semaphore>
#include <thread>

namespace gangway::launch {

class TimeLimit {
 public:
  /// @pre EndRequests has been made: it and output_of_child() throw SignalledError from then on
  explicit TimeLimit(std::chrono::duration<double> limit);
  ~TimeLimit() { ended_.release(); }
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

  [[nodiscard]] double seconds_left() const;  ///< 0 at the least
  [[nodiscard]] double seconds_taken() const;
  /// Whether a SignalledError is this one's doing. Any thread.
  [[nodiscard]] bool is_over() const { return is_over_; }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point end_;
  std::atomic<bool> is_over_ = false;
  std::binary_semaphore ended_{0};
  std::jthread thread_;  // the last member: it uses the others
};

}  // namespace gangway::launch
