// SPDX-License-Identifier: MIT
// The worker's end of the lifeline (framing: run/control_protocol.hpp): tells the coordinator
// within milliseconds that this process died, and this process that the coordinator did or has
// given the job up. Made by the worker's main after `join`, before `ready`; it runs a thread of its
// own.
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
#include "worker/link/last_word.hpp"

namespace gangway::worker {

/// A connected lifeline. Heartbeats flow until it is destroyed.
class Lifeline {
 public:
  /// Called once, on the lifeline's thread, with one line that says what happened. It normally ends
  /// the process: the compute thread may be waiting for a peer that no longer exists.
  /// @param keep  whether snapshots are to be copied to the disk; nothing: there was no word of it
  using OnAbandoned = std::function<void(const std::string& reason, std::optional<bool> keep)>;

  /// What a heartbeat says (run/control_protocol.hpp); asked on the lifeline's thread.
  using Beat = std::function<char()>;

  /// @throws EnvironmentError as connect_and_greet
  Lifeline(
      const GreetingAddress& address, int rank, std::chrono::milliseconds limit,
      OnAbandoned on_abandoned, Beat beat = [] { return kHeartbeat; });
  ~Lifeline();
  Lifeline(const Lifeline&) = delete;
  Lifeline& operator=(const Lifeline&) = delete;

  /// From now on a coordinator that is silent for `limit` counts as gone: it is stopped, or its
  /// host cut off. Until then it may be reading checkpoints.
  void expect_heartbeats(std::chrono::milliseconds limit) { silence_ = limit.count(); }
  /// Call before `goodbye`, and when the coordinator has stopped this worker: from now on a closed
  /// connection is the expected end, and `on_abandoned` is not called for it.
  void expect_close() { close_expected_ = true; }
  /// The run has failed, and more of this worker's snapshots is on the disk: the coordinator waits
  /// for the rest. Any thread.
  void say_keeping() const;
  /// Waits until the coordinator closes the connection, as it does when all have said Goodbye.
  /// @return whether it has, within `limit`
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
  std::atomic<std::chrono::milliseconds::rep> silence_ = 0;  ///< 0: whatever it is
  std::promise<void> closed_;
  std::future<void> is_closed_ = closed_.get_future();
  LastWord last_word_;   ///< says on `socket_` which signal ends the process
  std::jthread thread_;  ///< last: it uses all of the above
};

}  // namespace gangway::worker
