// SPDX-License-Identifier: MIT
// A worker's side of the talk with the coordinator, in run/messages/messages.hpp. The training
// session calls it from the compute thread, the checkpoint writer from its own; a fake serves in
// tests.
//
// Order of a life: join, connect the lifeline (worker/link/lifeline.hpp), ask_begin (and again,
// where what it names cannot be loaded), ready, then next_lease until one says `last`, then
// goodbye. After the steps of a lease come, in this order, its pictures and its checkpoint.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/errors.hpp"
#include "run/messages/messages.hpp"
#include "worker/link/state_link.hpp"

namespace gangway::worker {

/// Thrown by what waits for the coordinator when that ends the job. It has already told the
/// user why: the worker leaves quietly (its message and exit code are for the log).
class StoppedByCoordinator : public Error {
 public:
  StoppedByCoordinator(ExitCode code, const std::string& reason, bool keep)
      : Error(code, reason), keep_(keep) {}
  /// As messages::Stop::keep.
  [[nodiscard]] bool keep() const { return keep_; }

 private:
  bool keep_;
};

/// The talk with the coordinator. Thread: `checkpoint_part`, `picture`, `report` and `stop` from
/// any thread, the rest from the compute thread.
class CoordinatorLink : public StateLink {
 public:
  /// Says Hello and waits for the Welcome.
  /// @throws StoppedByCoordinator; CommError when `limit` passes.
  [[nodiscard]] virtual messages::Welcome join(const messages::Hello& hello,
                                               std::chrono::milliseconds limit) = 0;

  /// Everything is set up and the lifeline stands: leases may flow. Never waits.
  virtual void ready(const messages::Ready& ready) = 0;

  /// The next lease; granted one ahead, so that it is normally here already.
  /// @throws StoppedByCoordinator; CommError when `limit` passes.
  [[nodiscard]] virtual messages::Lease next_lease(std::chrono::milliseconds limit) = 0;

  /// A step is done. Never waits.
  virtual void report(const messages::Progress& progress) = 0;

  /// A picture was written. Never waits.
  virtual void picture(const messages::Picture& picture) = 0;

  /// This worker cannot go on. Waits at most a second for the message to leave; the caller then
  /// ends the process.
  virtual void stop(const messages::Stop& stop) = 0;

  /// All leases done, nothing in flight. Waits until the message has left.
  /// @throws CommError when `limit` passes.
  virtual void goodbye(std::chrono::milliseconds limit) = 0;
};

}  // namespace gangway::worker
