// SPDX-License-Identifier: MIT
// The state and the gradients of one network in the memory of a CUDA device, where kernels and NCCL
// work on them. Compute thread; asynchronous work is ordered by the compute stream.
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "comm/cuda/cuda_handles.hpp"
#include "comm/host/gradient_memory.hpp"
#include "comm/nccl/nccl_memory.hpp"
#include "worker/state/network_state.hpp"

namespace gangway::worker {

/// Pages that the device copies from and to by itself. Empty where the system does not allow it:
/// copies then go through pages of the driver's, and take longer.
struct PinnedPagesTraits {
  using type = void*;
  static type null() noexcept { return nullptr; }
  static void release(type pages) noexcept { (void)cudaHostUnregister(pages); }
};
using PinnedPages = UniqueHandle<PinnedPagesTraits>;
[[nodiscard]] PinnedPages pin(comm::Arena& arena);

/// kWeights: of a network that another worker trains, room for what is loaded.
enum class Holding { kAll, kWeights };

/// Weights, moments and average. The state's arenas are pinned as long as it lives.
class DeviceNetwork final : public DeviceMirror {
 public:
  /// @param stream  of all computing with the network; outlives this, as the state does
  DeviceNetwork(NetworkState& state, at::Device device, cudaStream_t stream,
                Holding holding = Holding::kAll);

  [[nodiscard]] at::Device device() const override { return device_; }
  [[nodiscard]] float* weights() override { return floats(weights_); }
  void fetch(std::span<const comm::ElementRange> ranges) override;
  void fetch_weights() override;
  void store() override;

  /// The optimiser's, in its row's order.
  [[nodiscard]] PerMoment<float*> moments();
  /// Null where the network keeps none.
  [[nodiscard]] float* average() { return floats(average_); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  [[nodiscard]] static float* floats(const comm::NcclMemory& memory) {
    return static_cast<float*>(memory.get());
  }
  /// An arena of the state and its place on the device.
  struct Copy {
    comm::Arena* host;
    float* device;
  };
  [[nodiscard]] std::vector<Copy> copies();
  void fetch(const Copy& copy, comm::ElementRange range);
  void wait();

  NetworkState& state_;
  at::Device device_;
  cudaStream_t stream_;
  std::size_t bytes_;
  comm::NcclMemory weights_;
  std::vector<comm::NcclMemory> moments_;
  comm::NcclMemory average_;
  std::vector<PinnedPages> pinned_;
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
