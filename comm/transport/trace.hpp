// SPDX-License-Identifier: MIT
// What a thread did when, for `--trace` (docs/tracing.md). Each thread that is traced writes to a
// ring of its own, which is allocated when it is first turned on, before that: an event is two
// looks at the clock and a copy, and while the ring is off, one branch. Who reads waits first until
// the thread has nothing in hand.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace gangway::comm {

/// Equal in all processes of one host.
using TraceClock = std::chrono::steady_clock;

/// The newest events of one thread.
template <typename Event>
class TraceRing {
 public:
  explicit TraceRing(std::size_t capacity) : capacity_(capacity) {}

  /// Empty, and on. Any thread. @pre it is off, and the thread whose ring it is has been waited for
  /// since, or has not written yet
  void begin() {
    events_.resize(capacity_);
    added_ = 0;
    is_on_.store(true, std::memory_order_release);
  }
  /// Any thread.
  void end() { is_on_.store(false, std::memory_order_relaxed); }
  [[nodiscard]] bool is_on() const { return is_on_.load(std::memory_order_acquire); }

  /// The one thread whose ring it is.
  void add(const Event& event) { events_[added_++ % events_.size()] = event; }

  /// Calls `take` with each event, oldest first. @pre the writing thread has been waited for
  template <typename Take>
  void for_each(const Take& take) const {
    for (std::uint64_t i = lost(); i < added_; ++i) {
      take(events_[i % events_.size()]);
    }
  }
  /// Events that newer ones have overwritten.
  [[nodiscard]] std::uint64_t lost() const { return added_ > capacity_ ? added_ - capacity_ : 0; }

 private:
  std::size_t capacity_;
  std::vector<Event> events_;  // none before the first time
  std::uint64_t added_ = 0;
  std::atomic<bool> is_on_ = false;
};

/// What the lane does with a bucket.
enum class LaneWork : std::uint8_t {
  kLeave,    ///< add the statistics and offer the own partials
  kForward,  ///< add up the host's partials for other hosts and send them
  kSum,      ///< a piece of the own slice
  kUpdate,   ///< the optimiser on a piece of the own slice
  kOffer,    ///< publish the new weights
  kDone,     ///< no work: all weights of the bucket are there
};

struct LaneEvent {
  TraceClock::time_point begin;
  TraceClock::time_point end;
  LaneWork work = LaneWork::kLeave;
  int network = 0;
  int bucket = 0;
};

using LaneTrace = TraceRing<LaneEvent>;

/// Does `work` and, where it did something and `trace` is there and on, writes down when.
/// @param work  returns whether it did something
template <typename Work>
bool traced(LaneTrace* trace, LaneEvent event, const Work& work) {
  if (trace == nullptr || !trace->is_on()) {
    return work();
  }
  event.begin = TraceClock::now();
  const bool moved = work();
  if (moved) {
    event.end = TraceClock::now();
    trace->add(event);
  }
  return moved;
}

}  // namespace gangway::comm
