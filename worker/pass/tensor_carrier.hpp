// SPDX-License-Identifier: MIT
// How the tensors of passes go from worker to worker: in memory of the host
// (worker/pass/host_carrier.hpp), from a device through such memory
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
  /// A step begins whose instructions have been performed so often before, by this worker. In the
  /// first ones whatever is called may load itself, and allocators grow.
  virtual void begin_step(int /*performed*/) {}
  /// `count` more tensors will come from `peer`: only announced ones are listened for.
  virtual void expect(int peer, int count) = 0;
  /// Never waits; nobody may change `tensor` until it has left. Undefined: none follows.
  virtual void send(int peer, const comm::TensorKey& key, const at::Tensor& tensor) = 0;
  /// Returns when what this thread computes next may take it, which has the sender's type, sizes
  /// and strides. @throws CommError naming `peer` where it does not come in time
  [[nodiscard]] virtual at::Tensor receive(int peer, const comm::TensorKey& key) = 0;
  /// Until all that was sent has left.
  virtual void finish() = 0;
};

struct CarrierSetup {
  comm::Transport& transport;  ///< of all workers; outlives the carrier, as the lane does
  comm::Lane& lane;
  comm::TensorChannel::Setup channel;
  /// From whom to whom tensors go that this worker sends or takes.
  std::set<std::pair<int, int>> edges = {};
};

/// How `tensor` lies in memory. @throws InvariantError where it has too many axes
[[nodiscard]] comm::TensorShape shape_of(const at::Tensor& tensor);
/// New memory of `device` for one of that shape. @pre there is one
[[nodiscard]] at::Tensor empty_of(const comm::TensorShape& shape, at::Device device);

}  // namespace gangway::worker
