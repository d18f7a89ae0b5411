// SPDX-License-Identifier: MIT
// Sends tensors of passes from GPU to GPU over NCCL. Before each tensor, its sender announces key
// and shape in a host message (a notice), numbered along the edge. The receiver posts receives in
// the order of the sends, for any order in which its passes take them. The host runs ahead of
// its device by a limited number of tensors. Compute thread; the lane carries the messages and
// launches.
//
// An NCCL send or receive occupies its device until the other end arrives. Lazy loading and
// allocation may wait for all work on a device, so two workers could deadlock. So a worker sends
// its first steps of each list of instructions through host memory, which occupies no device. Each
// sender decides for itself: it uses NCCL only once it no longer loads or allocates.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>

#include "comm/nccl/tensor_edges.hpp"
#include "worker/cuda/staged_carrier.hpp"
#include "worker/pass/tensor_carrier.hpp"

namespace gangway::worker {

class NcclCarrier final : public TensorCarrier {
 public:
  /// @param sessions  TensorEdgesSetup::sessions
  NcclCarrier(const CarrierSetup& setup, ComputingDevice device,
              std::map<comm::TensorEdge, comm::NcclSession*> sessions);
  NcclCarrier(const NcclCarrier&) = delete;
  NcclCarrier& operator=(const NcclCarrier&) = delete;

  [[nodiscard]] std::string way() const override { return "from GPU to GPU over NCCL"; }
  void begin_step(int performed) override;
  void expect(int peer, int count) override;
  void send(int peer, const comm::TensorKey& key, const at::Tensor& tensor) override;
  /// @throws InvariantError if all announced tensors have come and this one was not among them
  [[nodiscard]] at::Tensor receive(int peer, const comm::TensorKey& key) override;
  void finish() override;

 private:
  /// Content of the message ahead of a tensor.
  struct Notice {
    comm::TensorKey key;
    comm::TensorShape shape;
    bool is_staged = false;  ///< it follows through host memory
  };
  /// A tensor whose receive is posted.
  struct Coming {
    at::Tensor tensor;                                // undefined: none follows
    std::optional<comm::TensorEdges::Ticket> ticket;  // none: it has no elements, or is staged
    bool is_staged = false;                           // it comes through host memory
  };
  struct Incoming {
    int num_announced = 0;  // announced tensors whose notices have not been read
    std::int32_t next = 0;  // number of the next notice
    std::map<comm::TensorKey, Coming> coming;
  };

  /// Returns the key of notice `number`, which goes in the same step as its tensor.
  [[nodiscard]] static comm::TensorKey key_of_notice(std::int64_t step, std::int32_t number);
  /// Reads the next notice from `peer` and posts the receive of its tensor.
  void ask_for_next(int peer, std::int64_t step, Incoming& incoming);

  /// Makes LibTorch's allocator reserve more memory than it has needed so far.
  void take_room() const;

  ComputingDevice device_;
  StagedCarrier staged_;  // also carries the notices
  comm::TensorEdges edges_;
  bool is_staged_ = false;  // whether tensors of this step go through host memory
  /// Keeps tensors sent through host memory as long as NCCL would keep them, counted by tensors
  /// received from that peer. So the allocator reserves what later steps need.
  struct StagedTensor {
    at::Tensor tensor;
    std::size_t received;  // from the peer before it was sent
  };
  struct Sent {
    std::deque<StagedTensor> held;
    std::size_t received = 0;
  };
  std::map<int, Sent> held_;          // by peer, of this step
  std::map<int, std::int32_t> sent_;  // notices, by peer
  std::map<int, Incoming> incoming_;  // by peer
};

}  // namespace gangway::worker
