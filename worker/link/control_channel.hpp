// SPDX-License-Identifier: MIT
// The way to the coordinator as bytes: whole messages to and from rank 0, in order. The coordinator
// link (compute thread) and whoever else reports (writer) call it; an implementation hands the
// bytes to the lane, which alone calls MPI.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace gangway::worker {

/// Ordered, lossless messages between this worker and rank 0. Thread: every member may be called
/// from any thread.
class ControlChannel {
 public:
  virtual ~ControlChannel() = default;

  /// Queues one message. Never waits and never throws for a peer's sake.
  virtual void send(std::string bytes) = 0;

  /// The next message that has arrived, if any. Never waits.
  [[nodiscard]] virtual std::optional<std::string> try_receive() = 0;

  /// Blocks until a message can be received or `limit` has passed. True: `try_receive` has
  /// something.
  [[nodiscard]] virtual bool wait(std::chrono::milliseconds limit) = 0;

  /// Blocks until everything queued has been handed over (MPI says that the sends are complete) or
  /// `limit` has passed. True: nothing is left.
  [[nodiscard]] virtual bool flush(std::chrono::milliseconds limit) = 0;
};

}  // namespace gangway::worker
