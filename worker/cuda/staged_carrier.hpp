// SPDX-License-Identifier: MIT
// Sends tensors of passes between GPUs through host memory, if workers share a device or have no
// NCCL between them. Copies outgoing tensors on a separate stream and sends each when copied;
// copies incoming ones on the compute stream. Compute thread; the lane sends.
//
//   compute stream   made | ready
//   copy stream             wait until it is ready | copy to the host | copied: the lane sends it
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <span>

#include "base/guarded.hpp"
#include "worker/cuda/cuda_calls.hpp"
#include "worker/cuda/pinned_buffers.hpp"
#include "worker/pass/tensor_carrier.hpp"

namespace gangway::worker {

class StagedCarrier final : public TensorCarrier, private comm::Exchange {
 public:
  StagedCarrier(const CarrierSetup& setup, ComputingDevice device);
  /// Waits for its work on the streams.
  ~StagedCarrier() override;
  StagedCarrier(const StagedCarrier&) = delete;
  StagedCarrier& operator=(const StagedCarrier&) = delete;

  [[nodiscard]] std::string way() const override {
    return "from GPU to GPU through memory of the hosts";
  }
  void expect(int peer, int count) override { channel_.expect(peer, count); }
  void send(int peer, const comm::TensorKey& key, const at::Tensor& tensor) override;
  [[nodiscard]] at::Tensor receive(int peer, const comm::TensorKey& key) override;
  void finish() override;
  /// Sends a message without a tensor, after everything sent before. The receiver listens for as
  /// many as were announced and gets them in the order of sending.
  void send_message(int peer, const comm::TensorKey& key, std::span<const std::byte> bytes,
                    std::shared_ptr<const void> owner);
  [[nodiscard]] comm::ReceivedTensor receive_message(int peer, const comm::TensorKey& key) {
    return channel_.receive(peer, key);
  }

 private:
  /// A tensor being copied to the host.
  struct Leaving {
    int peer = 0;
    comm::TensorKey key;
    comm::TensorShape shape;
    at::Tensor tensor;  // its memory must not be reused before it is copied
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> owner;  // of the bytes
    comm::CudaEvent copied;             // null: no copy is needed
  };
  void add(Leaving one);
  /// A tensor being copied to the device.
  struct Arriving {
    at::Tensor tensor;
    std::shared_ptr<std::byte> buffer;
    comm::CudaEvent arrived;
  };

  // --- lane ---

  [[nodiscard]] Need needs() const override {
    return num_leaving_.load(std::memory_order_acquire) > 0 ? Need::kMessages : Need::kNothing;
  }
  bool advance() override;

  comm::Lane& lane_;
  ComputingDevice device_;
  comm::TensorChannel channel_;
  PinnedBuffers buffers_;
  comm::CudaStream copies_;
  std::deque<Arriving> arriving_;  // compute thread
  std::atomic<int> num_leaving_ = 0;
  Mutex mutex_;
  std::deque<Leaving> leaving_ GANGWAY_GUARDED_BY(mutex_);
};

}  // namespace gangway::worker
