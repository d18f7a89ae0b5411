// SPDX-License-Identifier: MIT
// The event loop's functions for the control service and the live page.
#include <chrono>
#include <exception>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/time.hpp"
#include "checkpoint/store/retention.hpp"
#include "coordinator/io/event_loop.hpp"

namespace gangway::coordinator {

JobStatus EventLoop::status() const {
  return core_.status(std::chrono::steady_clock::now(), unix_seconds());
}

void EventLoop::obey(const Command& command,
                     const std::function<void(const CommandAnswer&)>& answered) {
  const Commanded commanded =
      core_.on_command(command, std::chrono::steady_clock::now(), unix_seconds());
  const CommandAnswer& answer = commanded.answer;
  when_recorded_ = [answered, answer](const std::string& error) {
    CommandAnswer told = answer;
    told.text += error.empty() ? "" : fmt::format(" (not in steering.jsonl: {})", error);
    answered(told);
  };
  carry_out(commanded.effects);
  if (const auto left = std::exchange(when_recorded_, {})) {  // refused: nothing was recorded
    left({});
  }
}

void EventLoop::carry_out(const RecordSteering& record) {
  SteeringWritten written = std::exchange(when_recorded_, {});
  if (!written) {  // Gangway itself steers: no command to answer
    written = [](const std::string& /*error*/) {};
  }
  parts_.recorder.record_steering(record.event, written);
}

void EventLoop::carry_out(const KeepCheckpoints& keep) {
  parts_.recorder.keep_checkpoints(keep.spec);
}

void EventLoop::carry_out(const BeginTrace& trace) { parts_.recorder.begin_trace(trace.steps); }

void EventLoop::carry_out(const PinCheckpoint& pin) {
  disk_.submit(
      [this, step = pin.step, checkpoints = parts_.recorder.checkpoints()]() -> DiskThread::Follow {
        try {
          checkpoint::pin_checkpoint(checkpoints, step);
          return [] {};
        } catch (const std::exception& error) {
          return [this, step, reason = std::string(error.what())] {
            parts_.recorder.say(fmt::format("warn  step {} is not pinned: {}", step, reason));
          };
        }
      });
}

}  // namespace gangway::coordinator
