// SPDX-License-Identifier: MIT
// Measures some steps on a device that lags behind: puts a mark on it whenever the compute thread
// enters another part (worker/trace/step_clock.hpp). Compute thread; never waits.
#pragma once

#include <cstdint>
#include <memory>

#include "base/system/time_ledger.hpp"
#include "run/messages/messages.hpp"
#include "worker/trace/device_marks.hpp"

namespace gangway::worker {

class DeviceClock final : public PartListener {
 public:
  /// @param marks  null: the device keeps pace with the thread, whose own times suffice
  /// @param tick_steps  steps of a tick; at least one in each tick is measured
  DeviceClock(std::unique_ptr<DeviceMarks> marks, std::size_t num_networks,
              std::int64_t tick_steps);
  ~DeviceClock() override;
  DeviceClock(const DeviceClock&) = delete;
  DeviceClock& operator=(const DeviceClock&) = delete;

  /// Begins a step. @pre the thread's ledger has begun
  void begin_step(std::int64_t step);
  void end_step();
  /// Adds the measured steps that the device has finished since the last call.
  void tell(messages::StepFigures& figures);

  void entered(std::size_t part) override { marks_->mark(part); }

 private:
  std::unique_ptr<DeviceMarks> marks_;
  std::size_t num_parts_;
  std::int64_t every_;  // steps
  bool is_on_ = false;
};

}  // namespace gangway::worker
