// SPDX-License-Identifier: MIT
// Divides the compute thread's waits for the lane by the lane's work in that time. Compute thread.
#pragma once

#include "comm/lane.hpp"
#include "worker/trace/step_clock.hpp"

namespace gangway::worker {

/// Scope in which the calling thread waits for the lane.
class LaneWait {
 public:
  explicit LaneWait(const comm::Lane& lane)
      : lane_(lane), before_(lane.ledger().read()), begin_(TimeLedger::Clock::now()) {}
  ~LaneWait() { share_out(); }
  LaneWait(const LaneWait&) = delete;
  LaneWait& operator=(const LaneWait&) = delete;

 private:
  /// Divides the wait in proportion to the lane's times, because two threads' clocks are read one
  /// after the other.
  void share_out() const;

  PartScope part_ = in_part(messages::StepPart::kExchange);
  const comm::Lane& lane_;
  TimeLedger::Nanoseconds before_;
  TimeLedger::Clock::time_point begin_;
};

}  // namespace gangway::worker
