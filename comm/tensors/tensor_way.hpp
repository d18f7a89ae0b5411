// SPDX-License-Identifier: MIT
// The interface of a path for tensors between workers: one stream each way, of headers followed by
// elements. Implemented by comm/tensors/tensor_messages.hpp (messages) and
// comm/tensors/tensor_streams.hpp (shared memory). Called by comm/tensors/tensor_channel.hpp, which
// chooses a path per worker. Lane thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "base/index.hpp"
#include "comm/tensors/tensor_header.hpp"

namespace gangway::comm {

struct OutgoingTensor {
  int peer = 0;
  TensorHeader header;
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;  ///< keeps `bytes` alive and unchanged until they are sent
};

struct ReceivedTensor {
  TensorShape shape;
  std::shared_ptr<std::byte> memory;  ///< shape.bytes, aligned to 64
};

/// Allocates memory for a tensor that `peer` announces to `worker`.
/// @throws PeerError if no tensor can have this shape
[[nodiscard]] ReceivedTensor room_for(const TensorShape& shape, WorkerIndex worker,
                                      WorkerIndex peer);

class TensorWay {
 public:
  using Arrived = std::function<void(int peer, const TensorKey& key, ReceivedTensor tensor)>;
  virtual ~TensorWay() = default;

  /// Never waits.
  virtual void send(OutgoingTensor tensor) = 0;
  /// Announces `count` more tensors from `peer`; only announced tensors are received.
  virtual void expect(int peer, int count) = 0;
  /// Does all work that does not block. Returns true if it did any. @throws CommError
  virtual bool advance(const Arrived& arrived) = 0;
  /// Tensors that are not completely sent.
  [[nodiscard]] virtual std::size_t num_unsent() const = 0;
  /// The receiver of an unsent tensor. @pre num_unsent() > 0
  [[nodiscard]] virtual int awaited_receiver() const = 0;
  /// Whether an announced tensor has not arrived.
  [[nodiscard]] virtual bool listens() const = 0;
};

}  // namespace gangway::comm
