// SPDX-License-Identifier: MIT
// The state and the gradients of one network in the memory of a CUDA device, where kernels and NCCL
// work on them. Compute thread; asynchronous work is ordered by the compute stream.
#pragma once

#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "comm/cuda/cuda_handles.hpp"
#include "comm/host/gradient_memory.hpp"
#include "comm/nccl/device_arena.hpp"
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

/// Weights of what the worker holds; moments and average of what it updates of that. Nothing of a
/// network that is another's. Arenas of a state of which it holds something are pinned as long as
/// it lives.
class DeviceNetwork final : public DeviceMirror {
 public:
  /// @param updated  by this worker, ascending
  /// @param stream   of all computing with the network; outlives this, as the state does
  DeviceNetwork(NetworkState& state, std::vector<comm::ElementRange> updated, at::Device device,
                cudaStream_t stream);

  [[nodiscard]] at::Device device() const override { return device_; }
  [[nodiscard]] float* weights() override { return weights_.data(); }
  void fetch(std::span<const comm::ElementRange> ranges) override;
  void fetch_weights() override;
  void store() override;

  /// The optimiser's, in its row's order.
  [[nodiscard]] PerMoment<float*> moments();
  /// Null where the network keeps none.
  [[nodiscard]] float* average() { return average_.data(); }
  /// What NCCL may register of the weights.
  [[nodiscard]] std::span<float> registrable() const { return weights_.registrable(); }

 private:
  /// An arena of the state, its place on the device, and what of it is there.
  struct Copy {
    comm::Arena* host;
    float* device;
    const std::vector<comm::ElementRange>* parts;
  };
  [[nodiscard]] std::vector<Copy> copies();
  void fetch(const Copy& copy, comm::ElementRange range);
  void wait();

  NetworkState& state_;
  at::Device device_;
  cudaStream_t stream_;
  std::vector<comm::ElementRange> held_;
  std::vector<comm::ElementRange> updated_;
  comm::DeviceArena weights_;
  std::vector<comm::DeviceArena> moments_;
  comm::DeviceArena average_;
  std::vector<PinnedPages> pinned_;
};

/// Sums of micro-batches, added in the order of the compute stream.
class DeviceGradientMemory final : public comm::GradientMemory {
 public:
  /// @param arena_elements  of the arenas that it is asked for, one or some in a row
  /// @param parts           of each that gradients are added to; ascend
  DeviceGradientMemory(cudaStream_t stream, std::size_t arena_elements,
                       std::vector<comm::ElementRange> parts)
      : stream_(stream), arena_elements_(arena_elements), parts_(std::move(parts)) {}
  [[nodiscard]] float* allocate(std::size_t elements) override;
  void clear(float* values, std::size_t elements) override;
  /// @pre elements is a multiple of 4
  void add(float* to, const float* from, std::size_t elements) override;

  [[nodiscard]] const std::deque<comm::DeviceArena>& blocks() const { return blocks_; }

 private:
  cudaStream_t stream_;
  std::size_t arena_elements_;
  std::vector<comm::ElementRange> parts_;
  std::deque<comm::DeviceArena> blocks_;
};

}  // namespace gangway::worker
