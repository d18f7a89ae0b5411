// SPDX-License-Identifier: MIT
// Keeps the state and gradients of one network in CUDA device memory, for kernels and NCCL. Compute
// thread; the compute stream orders asynchronous work.
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

/// Page-locked host pages, for asynchronous copies. Empty if the system does not allow pinning:
/// copies then go through the driver's own pages and take longer.
using PinnedPages = UniqueHandle<void*, cudaHostUnregister>;
[[nodiscard]] PinnedPages pin(comm::Arena& arena);

/// Holds the weights of this worker's parts, and moments and average of the slices it updates;
/// nothing of a network that it does not hold. Pins the state's arenas for its lifetime if the
/// worker holds some part.
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

  /// Returns the optimiser's moments, in the order of its row.
  [[nodiscard]] PerMoment<float*> moments();
  /// Returns null if the network keeps no average.
  [[nodiscard]] float* average() { return average_.data(); }
  /// Returns the weights' memory that NCCL may register.
  [[nodiscard]] std::span<float> registrable() const { return weights_.registrable(); }

 private:
  /// An arena of the state, its copy on the device, and the ranges that the device holds.
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

/// Adds gradients of micro-batches in the order of the compute stream.
class DeviceGradientMemory final : public comm::GradientMemory {
 public:
  /// @param arena_elements  of each requested arena; allocate() may ask for several in a row
  /// @param parts           ranges of each arena that get gradients; ascending
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
