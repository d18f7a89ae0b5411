// SPDX-License-Identifier: MIT
// Keeps images of earlier steps, to be shown to discriminators again (Shrivastava et al., 2017,
// section 2.3; CycleGAN, Zhu et al., 2017, section 4). Compute thread, unless a function names the
// lane.
//
// Each micro-batch has its own pools, so that kept and shown images depend on the job alone:
// another layout moves the micro-batch and its pools to another worker. In checkpoints a pool is
// one tensor, "image_pools/MICROBATCH/NAME" [pool, C, H, W], owned by the micro-batch's worker.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gan/network.hpp"
#include "job/layout/microbatch_ranges.hpp"
#include "job/spec.hpp"
#include "worker/state/network_state.hpp"

namespace gangway::worker {

struct ImagePoolsSetup {
  const Job& job;
  std::vector<std::string> names;       ///< pipeline::pools_of; at least one
  std::vector<MicrobatchRange> ranges;  ///< by worker
  int worker = 0;
  at::Device device = at::kCPU;  ///< device that makes the images
};

class ImagePools {
 public:
  explicit ImagePools(const ImagePoolsSetup& setup);

  /// Returns the pools' state for checkpoints; each worker owns whole tensors.
  [[nodiscard]] NetworkState& state() { return *state_; }
  /// Returns this worker's range of it.
  [[nodiscard]] comm::ElementRange own_range() const;

  /// Copies the loaded `state` to the pools.
  void take_up();
  /// Copies the pools to `state`. Lane thread, while the compute thread waits.
  /// @param steps  done
  void store(std::int64_t steps);

  /// Returns `images` [N, C, H, W]. While the pool has room, keeps and returns each image; then
  /// swaps about half of them for kept ones. Called once a step for each pool and micro-batch, from
  /// step 0 on.
  /// @param key  with micro-batch and step; chooses the swapped images
  [[nodiscard]] at::Tensor exchange(const std::string& name, const at::Tensor& images,
                                    RandomKey key);

 private:
  /// @param pool  index of the name
  [[nodiscard]] at::Tensor& kept(std::size_t pool, int microbatch);
  /// Returns the same pool in the state's arena.
  [[nodiscard]] at::Tensor stored(std::size_t pool, int microbatch);

  std::vector<std::string> names_;
  MicrobatchRange local_;
  int worker_;
  std::int64_t size_;  // images of one pool
  gan::Network network_;
  std::unique_ptr<NetworkState> state_;
  std::vector<at::Tensor> kept_;  // [pool, C, H, W] on the device: by own micro-batch and pool
};

}  // namespace gangway::worker
