// SPDX-License-Identifier: MIT
// Tensors of passes from device to device over NCCL. Which tensor comes next on an edge, and its
// shape, its sender says ahead by a message of the host, numbered along the edge: receives are
// asked for in the order of the sends, whatever the order in which the passes here take them.
// The host is ahead of its device by some tensors, and no more. Compute thread; the lane carries
// the messages and launches.
//
// A send or receive stands on its device until the other end has come to it. What loads itself at
// a first call, or allocates, may wait for all that is on the device, and two workers who do would
// wait for each other. So a worker's first steps of each list of instructions go through memory of
// the hosts, where nothing stands on a device. Each sender decides for itself: a receive that
// stands on the device of one who waits for it comes from one who does not.
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
  /// @param sessions  TensorEdges::Setup::sessions
  NcclCarrier(const CarrierSetup& setup, CarrierDevice device,
              std::map<comm::TensorEdges::Edge, comm::NcclSession*> sessions);
  NcclCarrier(const NcclCarrier&) = delete;
  NcclCarrier& operator=(const NcclCarrier&) = delete;

  [[nodiscard]] std::string way() const override { return "from GPU to GPU over NCCL"; }
  void begin_step(int performed) override;
  void expect(int peer, int count) override;
  void send(int peer, const comm::TensorKey& key, const at::Tensor& tensor) override;
  /// @throws InvariantError where all that was announced has come, and this was not among it
  [[nodiscard]] at::Tensor receive(int peer, const comm::TensorKey& key) override;
  void finish() override;

 private:
  /// What the message ahead of a tensor says.
  struct Notice {
    comm::TensorKey key;
    comm::TensorShape shape;
    bool is_staged = false;  ///< it follows through memory of the hosts
  };
  /// A tensor that was asked for.
  struct Coming {
    at::Tensor tensor;                                // undefined: none follows
    std::optional<comm::TensorEdges::Ticket> ticket;  // none: it has no elements
    bool is_staged = false;                           // and none of that either
  };
  struct Incoming {
    int num_announced = 0;  // and whose notices have not been read
    std::int32_t next = 0;  // number of the next notice
    std::map<comm::TensorKey, Coming> coming;
  };

  /// Of the message with the notice of that number, which goes in the same step as its tensor.
  [[nodiscard]] static comm::TensorKey key_of_notice(std::int64_t step, std::int32_t number);
  /// Reads the next notice from `peer` and asks for what it is about.
  void ask_for_next(int peer, std::int64_t step, Incoming& incoming);

  /// Has LibTorch's allocator take more than it needs so far, which it keeps.
  void take_room() const;

  CarrierDevice device_;
  StagedCarrier staged_;  // whose messages the notices are among
  comm::TensorEdges edges_;
  bool is_staged_ = false;  // what is sent in this step
  /// What was sent in a step through memory of the hosts, until as much has come from that peer
  /// since as over NCCL may have before it has passed: so the allocator has what later steps need.
  struct Held {
    at::Tensor tensor;
    std::size_t received;  // from the peer, before
  };
  struct Sent {
    std::deque<Held> held;
    std::size_t received = 0;
  };
  std::map<int, Sent> held_;          // by peer, of this step
  std::map<int, std::int32_t> sent_;  // notices, by peer
  std::map<int, Incoming> incoming_;  // by peer
};

}  // namespace gangway::worker
