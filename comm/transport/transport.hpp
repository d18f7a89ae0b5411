// SPDX-License-Identifier: MIT
// Point-to-point messages between the workers of one job: non-blocking, polled, never a collective,
// so that the loss of a peer can always be survived (facts: the only MPI pattern that does). Used
// by the lane's thread only, but for the count of bytes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

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
  /// By which people know `worker`, where this is the view of a group.
  [[nodiscard]] virtual int number_of(int worker) const { return worker; }

  /// Starts sending `bytes` to `peer`; they must stay unchanged until the request is done.
  [[nodiscard]] virtual RequestId start_send(int peer, MessageTag tag,
                                             std::span<const std::byte> bytes) = 0;
  /// Starts receiving exactly bytes.size() bytes from `peer`.
  [[nodiscard]] virtual RequestId start_receive(int peer, MessageTag tag,
                                                std::span<std::byte> bytes) = 0;
  /// The same for a message whose length only its sender knows: at most bytes.size() bytes, which
  /// fill `bytes` from its beginning. @pre bytes.size() <= kMostSegmentBytes
  [[nodiscard]] virtual RequestId start_receive_up_to(int peer, MessageTag tag,
                                                      std::span<std::byte> bytes) = 0;
  /// Makes progress; true once, when the request is complete (it is then forgotten).
  /// @throws CommError if the peer failed or sent another number of bytes; the request is then
  /// forgotten.
  [[nodiscard]] virtual bool done(RequestId request) = 0;
  /// Called between polls that found nothing done: gives up the core, pumps what shares the thread.
  virtual void idle() = 0;
  /// From now on no more than `window_bytes` of gradients and weights are on their way to a worker
  /// at a time, so that tensors, for which somebody waits, find little before them. Changes no
  /// message. Where nothing is ever on its way it does nothing.
  virtual void bound_bulk(std::size_t /*window_bytes*/) {}

  /// Payload of all sends so far but kState, which goes behind the steps. Any thread.
  [[nodiscard]] std::uint64_t bytes_sent() const {
    return bytes_sent_.load(std::memory_order_relaxed);
  }

 protected:
  void count_sent(MessageTag tag, std::size_t bytes) {
    if (tag.kind == MessageKind::kState) {
      return;
    }
    // Only the lane's thread writes, so that no locked addition is needed.
    bytes_sent_.store(bytes_sent() + bytes, std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint64_t> bytes_sent_ = 0;
};

}  // namespace gangway::comm
