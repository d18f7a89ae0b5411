// SPDX-License-Identifier: MIT
// Worker's side of the conversation with the coordinator, in run/messages/messages.hpp. Called by
// the training session (compute thread) and the checkpoint writer (its thread); tests use a fake.
//
// Order of calls: join, connect the lifeline (worker/link/lifeline.hpp), ask_begin (again if its
// answer cannot be loaded), send Ready, next_lease until a lease says `last`, goodbye. After the
// steps of a lease come its pictures, then its checkpoint.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/errors.hpp"
#include "run/messages/messages.hpp"
#include "worker/link/state_link.hpp"

namespace gangway::worker {

/// Thrown by calls that wait for the coordinator when it ends the job. The coordinator has already
/// told the user why, so the worker leaves quietly: message and exit code are for the log.
class StoppedByCoordinator : public Error {
 public:
  StoppedByCoordinator(ExitCode code, const std::string& reason, bool keep)
      : Error(code, reason), keep_(keep) {}
  /// As messages::Stop::keep.
  [[nodiscard]] bool keep() const { return keep_; }

 private:
  bool keep_;
};

/// Exchanges messages with the coordinator. Threads: `send` and `stop` from any thread, the rest
/// from the compute thread.
class CoordinatorLink : public StateLink {
 public:
  /// Sends Hello and waits for the Welcome.
  /// @throws StoppedByCoordinator; CommError when `limit` passes.
  [[nodiscard]] virtual messages::Welcome join(const messages::Hello& hello,
                                               std::chrono::milliseconds limit) = 0;

  /// Returns the next lease. The coordinator grants one lease ahead, so it has normally arrived.
  /// @throws StoppedByCoordinator; CommError when `limit` passes.
  [[nodiscard]] virtual messages::Lease next_lease(std::chrono::milliseconds limit) = 0;

  /// Reports that this worker cannot go on. Waits at most a second for the message to leave; the
  /// caller then ends the process.
  virtual void stop(const messages::Stop& stop) = 0;

  /// Reports that all leases are done and nothing is in flight. Waits until the message has left.
  /// @throws CommError when `limit` passes.
  virtual void goodbye(std::chrono::milliseconds limit) = 0;
};

}  // namespace gangway::worker
