// SPDX-License-Identifier: MIT
// Sends tensors between host memories, unchanged. Compute thread.
#pragma once

#include "worker/pass/tensor_carrier.hpp"

namespace gangway::worker {

class HostCarrier final : public TensorCarrier {
 public:
  explicit HostCarrier(const CarrierSetup& setup)
      : channel_(setup.transport, setup.lane, setup.channel) {}

  [[nodiscard]] std::string way() const override { return "through memory of the hosts"; }
  void expect(int peer, int count) override { channel_.expect(peer, count); }
  void send(int peer, const comm::TensorKey& key, const at::Tensor& tensor) override;
  [[nodiscard]] at::Tensor receive(int peer, const comm::TensorKey& key) override;
  void finish() override { channel_.finish_sending(); }

 private:
  comm::TensorChannel channel_;
};

}  // namespace gangway::worker
