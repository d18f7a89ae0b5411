// SPDX-License-Identifier: MIT
// Virtual time for the tests of this folder: future events, in the order of their times.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <random>
#include <utility>
#include <vector>

#include "base/time.hpp"

namespace gangway::launch {

class Timeline {
 public:
  using Duration = TimePoint::duration;

  [[nodiscard]] TimePoint now() const { return now_; }
  void after(Duration delay, std::function<void()> event) {
    events_.push({now_ + delay, ++num_events_, std::move(event)});
  }
  /// @return false: no event is left
  bool step() {
    if (events_.empty()) {
      return false;
    }
    Event event = std::move(const_cast<Event&>(events_.top()));  // keeps the time
    events_.pop();
    now_ = event.moment;
    event.what();
    return true;
  }

 private:
  struct Event {
    TimePoint moment;
    std::uint64_t number;
    std::function<void()> what;
    bool operator<(const Event& other) const {
      return std::pair(other.moment, other.number) < std::pair(moment, number);
    }
  };
  TimePoint now_{std::chrono::hours(1)};  // nonzero, because new states contain zero
  std::uint64_t num_events_ = 0;
  std::priority_queue<Event> events_;
};

/// Decisions of a seed.
class Chance {
 public:
  explicit Chance(std::uint64_t seed) : random_(seed) {}
  /// Returns a number in [least, most].
  int number(int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random_);
  }
  bool in(double share) { return std::uniform_real_distribution<double>()(random_) < share; }
  std::chrono::microseconds milliseconds(double least, double most) {
    return std::chrono::microseconds(
        number(static_cast<int>(1000.0 * least), static_cast<int>(1000.0 * most)));
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace gangway::launch
