// SPDX-License-Identifier: MIT
// The compute thread's waits for the lane, by what the lane does meanwhile. Compute thread.
#pragma once

#include "comm/lane.hpp"
#include "worker/trace/step_clock.hpp"

namespace gangway::worker {

/// The calling thread waits for the lane until the end of the scope.
class LaneWait {
 public:
  explicit LaneWait(const comm::Lane& lane)
      : lane_(lane), before_(lane.ledger().read()), begin_(TimeLedger::Clock::now()) {}
  ~LaneWait() { share_out(); }
  LaneWait(const LaneWait&) = delete;
  LaneWait& operator=(const LaneWait&) = delete;

 private:
  /// Two threads' clocks are read one after the other: the lane's are taken as shares of this
  /// one's.
  void share_out() const;

  PartScope part_ = in_part(messages::StepPart::kExchange);
  const comm::Lane& lane_;
  TimeLedger::Nanoseconds before_;
  TimeLedger::Clock::time_point begin_;
};

}  // namespace gangway::worker
