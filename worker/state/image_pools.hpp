// SPDX-License-Identifier: MIT
// Images that generators made in earlier steps, kept for discriminators to be shown again
// (Shrivastava et al., 2017, section 2.3; CycleGAN, Zhu et al., 2017, section 4). Compute thread,
// but for what is said of the lane.
//
// Each micro-batch has pools of its own, so that what is kept and what is shown again follows from
// the job alone: on another layout another worker has the micro-batch, and its pools with it. In
// checkpoints a pool is one tensor, "image_pools/MICROBATCH/NAME" [pool, C, H, W], owned by the
// micro-batch's worker.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gan/network.hpp"
#include "job/layout/microbatch_ranges.hpp"
#include "job/spec.hpp"
#include "worker/state/network_state.hpp"

namespace gangway::worker {

class ImagePools {
 public:
  struct Setup {
    const Job& job;
    std::vector<std::string> names;       ///< pipeline::pools_of; at least one
    std::vector<MicrobatchRange> ranges;  ///< by worker
    int worker = 0;
    at::Device device = at::kCPU;  ///< where the images are made
  };
  explicit ImagePools(const Setup& setup);

  /// What checkpoints have of them: a worker's part is whole tensors.
  [[nodiscard]] NetworkState& state() { return *state_; }
  /// This worker's part of it.
  [[nodiscard]] comm::ElementRange own_range() const;

  /// Takes up what `state` was loaded with.
  void take_up();
  /// Puts what is kept by now into `state`. Lane thread, while the compute thread waits.
  /// @param steps  done
  void store(std::int64_t steps);

  /// `images` [N, C, H, W], where each is kept, and shown, while there is room; then half of them
  /// are exchanged for one that was kept. Called once a step for each pool and micro-batch, from
  /// step 0 on.
  /// @param key  with micro-batch and step; which are exchanged is drawn from it
  [[nodiscard]] at::Tensor exchange(const std::string& name, const at::Tensor& images,
                                    RandomKey key);

 private:
  /// @param pool  index of the name
  [[nodiscard]] at::Tensor& kept(std::size_t pool, int microbatch);
  /// The same in the state's arena.
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
