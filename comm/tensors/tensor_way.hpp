// SPDX-License-Identifier: MIT
// A way on which tensors go from worker to worker, in one stream each way: a header that says what
// follows, then its elements. Messages (comm/tensors/tensor_messages.hpp) and the memory of a host
// (comm/tensors/tensor_streams.hpp) are ways; comm/tensors/tensor_channel.hpp takes for each worker
// the one that there is. Lane thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "comm/tensors/tensor_header.hpp"

namespace gangway::comm {

struct OutgoingTensor {
  int peer = 0;
  TensorHeader header;
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;  ///< keeps `bytes` alive and unchanged until they have left
};

struct ReceivedTensor {
  TensorShape shape;
  std::shared_ptr<std::byte> memory;  ///< shape.bytes, aligned to 64
};

/// For a tensor that `peer` announces to `worker`.
/// @throws PeerError where no such tensor can be
[[nodiscard]] ReceivedTensor room_for(const TensorShape& shape, int worker, int peer);

class TensorWay {
 public:
  using Arrived = std::function<void(int peer, const TensorKey& key, ReceivedTensor tensor)>;
  virtual ~TensorWay() = default;

  /// Never waits.
  virtual void send(OutgoingTensor tensor) = 0;
  /// `count` more tensors will come from `peer`: only announced ones are listened for.
  virtual void expect(int peer, int count) = 0;
  /// Does what can be done now. True if that was something. @throws CommError
  virtual bool advance(const Arrived& arrived) = 0;
  /// Tensors that have not left, or not wholly.
  [[nodiscard]] virtual std::size_t num_unsent() const = 0;
  /// Where one of them goes. @pre there is one
  [[nodiscard]] virtual int awaited_taker() const = 0;
  /// Whether an announced tensor has not come.
  [[nodiscard]] virtual bool listens() const = 0;
};

}  // namespace gangway::comm
