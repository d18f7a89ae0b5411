// SPDX-License-Identifier: MIT
// Interface that moves tensors of passes between workers: in host memory
// (worker/pass/host_carrier.hpp), from a device through host memory
// (worker/cuda/staged_carrier.hpp), or from device to device (worker/cuda/nccl_carrier.hpp).
// Compute thread.
#pragma once

#include <set>
#include <string>
#include <utility>

#include "comm/tensors/tensor_channel.hpp"
#include "gan/torch.hpp"

namespace gangway::worker {

class TensorCarrier {
 public:
  virtual ~TensorCarrier() = default;
  /// "through memory of the hosts", for the log.
  [[nodiscard]] virtual std::string way() const = 0;
  /// Begins a step whose list of instructions this worker has performed `performed` times. In the
  /// first ones, code may load lazily and allocators grow.
  virtual void begin_step(int /*performed*/) {}
  /// Announces `count` more tensors from `peer`: the carrier listens only for announced ones.
  virtual void expect(int peer, int count) = 0;
  /// Never waits; do not change `tensor` until it has left. Undefined: announces that none follows.
  virtual void send(int peer, const comm::TensorKey& key, const at::Tensor& tensor) = 0;
  /// Returns the tensor when later work of this thread may use it; it has the sender's type, sizes
  /// and strides. @throws CommError naming `peer` if it does not come in time
  [[nodiscard]] virtual at::Tensor receive(int peer, const comm::TensorKey& key) = 0;
  /// Waits until all sent tensors have left.
  virtual void finish() = 0;
};

struct CarrierSetup {
  comm::Transport& transport;  ///< of all workers; outlives the carrier, as the lane does
  comm::Lane& lane;
  comm::TensorChannelSetup channel;
  /// (sender, receiver) of all tensors that this worker sends or receives.
  std::set<std::pair<int, int>> edges = {};
};

/// Returns the memory layout of `tensor`. @throws InvariantError if it has too many axes
[[nodiscard]] comm::TensorShape shape_of(const at::Tensor& tensor);
/// Returns a new tensor of that shape on `device`. @pre `shape` is of a defined tensor
[[nodiscard]] at::Tensor empty_of(const comm::TensorShape& shape, at::Device device);

}  // namespace gangway::worker
