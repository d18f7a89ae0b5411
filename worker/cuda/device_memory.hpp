// SPDX-License-Identifier: MIT
// The state and the gradients of one network in the memory of a CUDA device, where kernels and NCCL
// work on them. Compute thread; asynchronous work is ordered by the compute stream.
#pragma once

#include <deque>
#include <optional>

#include "comm/gradient_memory.hpp"
#include "comm/nccl/nccl_memory.hpp"
#include "worker/network_state.hpp"

namespace gangway::worker {

/// Weights, moments and average.
class DeviceNetwork final : public DeviceMirror {
 public:
  /// @param stream  of all computing with the network; outlives this, as the state does
  DeviceNetwork(NetworkState& state, at::Device device, cudaStream_t stream);

  [[nodiscard]] at::Device device() const override { return device_; }
  [[nodiscard]] float* weights() override { return floats(weights_); }
  void fetch() override;
  void fetch_weights() override;
  void store() override;

  [[nodiscard]] float* first_moment() { return floats(first_moment_); }
  [[nodiscard]] float* second_moment() { return floats(second_moment_); }
  /// Null where the network keeps none.
  [[nodiscard]] float* average() { return floats(average_); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  [[nodiscard]] static float* floats(const comm::NcclMemory& memory) {
    return static_cast<float*>(memory.get());
  }
  void copy(void* to, const void* from, cudaMemcpyKind kind);
  void wait();

  NetworkState& state_;
  at::Device device_;
  cudaStream_t stream_;
  std::size_t bytes_;
  comm::NcclMemory weights_;
  comm::NcclMemory first_moment_;
  comm::NcclMemory second_moment_;
  comm::NcclMemory average_;
};

/// Sums of micro-batches, added in the order of the compute stream.
class DeviceGradientMemory final : public comm::GradientMemory {
 public:
  explicit DeviceGradientMemory(cudaStream_t stream) : stream_(stream) {}
  [[nodiscard]] float* allocate(std::size_t elements) override;
  void clear(float* values, std::size_t elements) override;
  /// @pre elements is a multiple of 4
  void add(float* to, const float* from, std::size_t elements) override;

  struct Block {
    comm::NcclMemory memory;
    std::size_t bytes = 0;
  };
  [[nodiscard]] const std::deque<Block>& blocks() const { return blocks_; }

 private:
  cudaStream_t stream_;
  std::deque<Block> blocks_;
};

}  // namespace gangway::worker
