// SPDX-License-Identifier: MIT
// Records a thread's timed events for `--trace` (docs/tuning.md). Each traced thread writes its
// own ring, allocated when it is first turned on. An event costs two clock reads and a copy; a ring
// that is off costs one branch. Before reading, wait until the thread is idle.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gangway::comm {

/// One clock, equal in all processes of a host.
using TraceClock = std::chrono::steady_clock;

/// The newest events of one thread.
template <typename Event>
class TraceRing {
 public:
  explicit TraceRing(std::size_t capacity) : capacity_(capacity) {}

  /// Empties the ring and turns it on. Any thread. @pre the ring is off, and the caller has waited
  /// for its thread since, or the thread has not written yet
  void begin() {
    events_.resize(capacity_);
    added_ = 0;
    is_on_.store(true, std::memory_order_release);
  }
  /// Any thread.
  void end() { is_on_.store(false, std::memory_order_relaxed); }
  [[nodiscard]] bool is_on() const { return is_on_.load(std::memory_order_acquire); }

  /// Appends an event. Only the ring's own thread.
  void add(const Event& event) { events_[added_++ % events_.size()] = event; }

  /// Calls `take` with each event, oldest first. @pre the caller has waited for the ring's thread
  template <typename Take>
  void for_each(const Take& take) const {
    for (std::uint64_t i = lost(); i < added_; ++i) {
      take(events_[i % events_.size()]);
    }
  }
  /// Number of events that newer events have overwritten.
  [[nodiscard]] std::uint64_t lost() const { return added_ > capacity_ ? added_ - capacity_ : 0; }

 private:
  std::size_t capacity_;
  std::vector<Event> events_;  // empty before the first begin()
  std::uint64_t added_ = 0;
  std::atomic<bool> is_on_ = false;
};

/// The lane's work on a bucket.
enum class LaneWork : std::uint8_t {
  kLeave,    ///< adds the statistics and publishes this worker's partials
  kForward,  ///< sums the host's partials for other hosts and sends them
  kSum,      ///< sums a piece of the own slice
  kUpdate,   ///< runs the optimiser on a piece of the own slice
  kOffer,    ///< publishes the new weights
  kDone,     ///< no work: all weights of the bucket have arrived
};

struct LaneEvent {
  TraceClock::time_point begin;
  TraceClock::time_point end;
  LaneWork work = LaneWork::kLeave;
  int network = 0;
  int bucket = 0;
};

using LaneTrace = TraceRing<LaneEvent>;

/// Runs `work` and records its time if it made progress and `trace` is on. `trace` may be null.
/// @param work  returns whether it made progress
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
