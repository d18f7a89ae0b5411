// SPDX-License-Identifier: MIT
// The trained state of a worker as named tensors in its checkpoint file, and back, on any number of
// workers. Values are stored in logical row-major order, whatever the memory format. Compute
// thread; gathers run on the lane.
//
// Names: generator/<block>/<tensor>, generator_ema/…,
// generator_optimizer/first_moment/<block>/<tensor>, generator_optimizer/second_moment/…,
// generator_optimizer/updates (int64 [1]); the same for discriminator, which has no average.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/directory.hpp"
#include "comm/lane.hpp"
#include "comm/transport.hpp"
#include "worker/network_state.hpp"

namespace gangway::worker {

class StateFiles {
 public:
  struct Setup {
    comm::Transport& transport;
    comm::Lane& lane;
    std::vector<NetworkState*> networks;
    std::chrono::milliseconds timeout;
  };
  explicit StateFiles(Setup setup) : setup_(std::move(setup)) {}

  /// Writes this worker's share of the state after `step` steps into `directory`; durable on
  /// return. All workers call it.
  /// @throws CommError when a worker is silent; EnvironmentError when the disk refuses;
  /// DivergedError when a value is not finite: then nothing is written.
  [[nodiscard]] checkpoint::FileReport save(const std::filesystem::path& directory,
                                            std::int64_t step);

  /// Fills all networks from a committed checkpoint. @throws CheckpointError naming checkpoint and
  /// tensor.
  void load(const std::filesystem::path& checkpoint);

 private:
  /// The places whose tensors worker `worker` writes: contiguous in the arena, so that one range
  /// holds them.
  [[nodiscard]] static std::vector<NetworkState::Place> share_of(const NetworkState& network,
                                                                 int worker, int num_workers);
  void gather(NetworkState& network, int index);

  Setup setup_;
};

}  // namespace gangway::worker
