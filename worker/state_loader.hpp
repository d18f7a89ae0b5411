// SPDX-License-Identifier: MIT
// Fills the networks of all workers from a StateSource: each reads its own slices, and the weights
// then travel to all. So every byte is read once over all workers, on any layout, and no worker
// needs more memory than in training. Compute thread; the gather runs on the lane.
#pragma once

#include <chrono>
#include <filesystem>
#include <span>
#include <string>

#include "comm/lane.hpp"
#include "comm/transport.hpp"
#include "worker/network_state.hpp"
#include "worker/state_source.hpp"

namespace gangway::worker {

struct StateLoad {
  std::span<NetworkState* const> networks;
  comm::Transport& transport;
  comm::Lane& lane;
  std::chrono::milliseconds timeout;
};

/// All workers call it with equal sources. @throws CheckpointError naming source and tensor;
/// CommError naming a silent worker.
void load_state(StateSource& source, const StateLoad& load);

/// Fills one network of all workers with weights from a file, which its average begins with too. All
/// workers call it, for networks without a history.
/// @param key  of the job, for messages. @throws ConfigError naming key, file and tensor.
void load_initial_weights(const std::string& key, const std::filesystem::path& file,
                          NetworkState& network, const StateLoad& load);

}  // namespace gangway::worker
