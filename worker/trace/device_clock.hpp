// SPDX-License-Identifier: MIT
// What some of the steps were to a device that lags behind: a mark on it wherever the compute
// thread goes over to another part (worker/trace/step_clock.hpp). Compute thread; never waits.
#pragma once

#include <cstdint>
#include <memory>

#include "base/system/time_ledger.hpp"
#include "run/messages/messages.hpp"
#include "worker/trace/device_marks.hpp"

namespace gangway::worker {

class DeviceClock final : public PartListener {
 public:
  /// @param marks  null: the device keeps pace with the thread, whose parts say all
  /// @param tick_steps  of a tick: each has a step that is looked at
  DeviceClock(std::unique_ptr<DeviceMarks> marks, std::size_t num_networks,
              std::int64_t tick_steps);
  ~DeviceClock() override;
  DeviceClock(const DeviceClock&) = delete;
  DeviceClock& operator=(const DeviceClock&) = delete;

  /// @pre the thread's ledger has begun
  void begin_step(std::int64_t step);
  void end_step();
  /// Adds the steps that the device has come past since the last call.
  void tell(messages::StepFigures& figures);

  void entered(std::size_t part) override { marks_->mark(part); }

 private:
  std::unique_ptr<DeviceMarks> marks_;
  std::size_t num_parts_;
  std::int64_t every_;  // steps
  bool is_on_ = false;
};

}  // namespace gangway::worker
