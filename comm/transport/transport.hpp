// SPDX-License-Identifier: MIT
// Sends point-to-point messages between the workers of one job. Calls are non-blocking and polled,
// never collective, because only this MPI pattern survives the loss of a peer. Lane thread only,
// except the count of bytes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/index.hpp"
#include "comm/transport/message_tag.hpp"

namespace gangway::comm {

/// A started send or receive. Opaque; valid until `done` returned true for it.
using RequestId = std::uint64_t;

class Transport {
 public:
  virtual ~Transport() = default;

  [[nodiscard]] virtual int worker() const = 0;  ///< own index, 0..num_workers()-1
  [[nodiscard]] virtual int num_workers() const = 0;
  [[nodiscard]] virtual std::int64_t epoch() const = 0;
  /// The worker of this place in a transport, which may be a group's; for messages to the user.
  [[nodiscard]] virtual WorkerIndex number_of(int worker) const { return WorkerIndex(worker); }
  [[nodiscard]] WorkerIndex own_number() const { return number_of(worker()); }

  /// Starts sending `bytes` to `peer`; they must stay unchanged until the request is done.
  [[nodiscard]] virtual RequestId start_send(int peer, MessageTag tag,
                                             std::span<const std::byte> bytes) = 0;
  /// Starts receiving exactly bytes.size() bytes from `peer`.
  [[nodiscard]] virtual RequestId start_receive(int peer, MessageTag tag,
                                                std::span<std::byte> bytes) = 0;
  /// Starts receiving a message of unknown length, at most bytes.size(), into the front of `bytes`.
  /// @pre bytes.size() <= kMostSegmentBytes
  [[nodiscard]] virtual RequestId start_receive_up_to(int peer, MessageTag tag,
                                                      std::span<std::byte> bytes) = 0;
  /// Makes progress. Returns true once, when the request is complete, and then forgets it.
  /// @throws CommError if the peer failed or sent another number of bytes; the request is then
  /// forgotten.
  [[nodiscard]] virtual bool done(RequestId request) = 0;
  /// Called between polls without progress: yields the core and pumps control messages.
  virtual void idle() = 0;
  /// Limits gradients and weights in transit to a worker to `window_bytes` at a time, so urgent
  /// tensors wait behind little. Changes no message. No effect on a transport that queues nothing.
  virtual void bound_bulk(std::size_t /*window_bytes*/) {}

  /// Payload bytes of all sends so far, without kState, which is not part of a step. Any thread.
  [[nodiscard]] std::uint64_t bytes_sent() const {
    return bytes_sent_.load(std::memory_order_relaxed);
  }

 protected:
  void count_sent(MessageTag tag, std::size_t bytes) {
    if (tag.kind == MessageKind::kState) {
      return;
    }
    // Only the lane's thread writes, so no atomic addition is needed.
    bytes_sent_.store(bytes_sent() + bytes, std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint64_t> bytes_sent_ = 0;
};

}  // namespace gangway::comm
