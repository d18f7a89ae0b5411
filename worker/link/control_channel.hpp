// SPDX-License-Identifier: MIT
// Interface for whole, ordered messages between this worker and rank 0. Called by the coordinator
// link (compute thread) and the checkpoint writer (its thread). An implementation passes the bytes
// to the lane, which alone calls MPI.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace gangway::worker {

/// Sends and receives ordered, lossless messages between this worker and rank 0. Every member may
/// be called from any thread.
class ControlChannel {
 public:
  virtual ~ControlChannel() = default;

  /// Queues one message. Never waits, and never throws because of the peer.
  virtual void send(std::string bytes) = 0;

  /// Returns the next message that has arrived, if any. Never waits.
  [[nodiscard]] virtual std::optional<std::string> try_receive() = 0;

  /// Blocks until a message can be received or `limit` has passed. Returns true if `try_receive`
  /// has a message.
  [[nodiscard]] virtual bool wait(std::chrono::milliseconds limit) = 0;

  /// Blocks until all queued messages are sent (MPI reports completion) or `limit` has passed.
  /// Returns true if none is left.
  [[nodiscard]] virtual bool flush(std::chrono::milliseconds limit) = 0;
};

}  // namespace gangway::worker
