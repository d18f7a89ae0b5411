// SPDX-License-Identifier: MIT
// Worker's end of the lifeline (framing: run/control_protocol.hpp). Tells the coordinator within
// milliseconds that this process died. Tells this process that the coordinator died or gave up the
// job. Made by the worker's main after `join`, before `ready`; runs its own thread.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <thread>

#include "base/file_descriptor.hpp"
#include "run/control_protocol.hpp"
#include "worker/link/coordinator_link.hpp"
#include "worker/link/signal_reporter.hpp"

namespace gangway::worker {

/// Holds the connection and sends heartbeats until it is destroyed.
class Lifeline {
 public:
  /// Called once, on the lifeline's thread, with one line that says what happened. It normally ends
  /// the process, because the compute thread may be waiting for a lost peer.
  /// @param keep  whether to copy snapshots to the disk; nothing: the coordinator did not say
  using OnAbandoned = std::function<void(const std::string& reason, std::optional<bool> keep)>;

  /// Returns a heartbeat's byte (run/control_protocol.hpp); called on the lifeline's thread.
  using Beat = std::function<char()>;

  /// @throws EnvironmentError as connect_and_greet
  Lifeline(
      const GreetingAddress& address, Rank rank, std::chrono::milliseconds limit,
      OnAbandoned on_abandoned, Beat beat = [] { return kHeartbeat; });
  ~Lifeline();
  Lifeline(const Lifeline&) = delete;
  Lifeline& operator=(const Lifeline&) = delete;

  /// From now on treats a coordinator that is silent for `limit` as lost: stopped, or its host cut
  /// off. Not called earlier, because the coordinator may be reading checkpoints.
  void expect_heartbeats(std::chrono::milliseconds limit) { silence_ = limit.count(); }
  /// From now on expects the connection to close and does not call `on_abandoned` for that. Call
  /// before `goodbye`, and when the coordinator has stopped this worker.
  void expect_close() { close_expected_ = true; }
  /// Tells the coordinator of a failed run that more of this worker's snapshots is on the disk: it
  /// waits for the rest. Any thread.
  void say_keeping() const;
  /// Waits until the coordinator closes the connection, as it does after the last Goodbye.
  /// @return whether it closed within `limit`
  [[nodiscard]] bool wait_closed(std::chrono::milliseconds limit);

 private:
  void watch(const std::stop_token& stop);
  /// @return false when the connection is over.
  bool listen();
  [[nodiscard]] bool is_silent(std::chrono::steady_clock::time_point heard) const;

  OnAbandoned on_abandoned_;
  Beat beat_;
  FileDescriptor socket_;
  FileDescriptor wake_;  ///< an eventfd: ends the thread's poll()
  std::atomic<bool> close_expected_ = false;
  std::atomic<std::chrono::milliseconds::rep> silence_ = 0;  ///< milliseconds; 0: no limit
  std::promise<void> closed_;
  std::future<void> is_closed_ = closed_.get_future();
  SignalReporter signal_reporter_;  ///< says on `socket_` which signal ends the process
  std::jthread thread_;             ///< last: it uses all of the above
};

}  // namespace gangway::worker
