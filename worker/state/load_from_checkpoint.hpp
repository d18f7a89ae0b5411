// SPDX-License-Identifier: MIT
// Loads all workers' networks from a checkpoint: each worker reads its own slices, then all-gathers
// the weights. So the workers together read every byte once, on any layout, and need no more memory
// than in training. Compute thread; the all-gather runs on the lane.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "comm/lane.hpp"
#include "comm/transport/transport.hpp"
#include "worker/link/state_link.hpp"
#include "worker/state/network_state.hpp"

namespace gangway::worker {

struct StateLoad {
  std::span<NetworkState* const> networks;
  comm::Transport& transport;
  comm::Lane& lane;
  std::chrono::milliseconds timeout;
  /// Reports the bytes read of this worker's total, about every second.
  std::function<void(std::uint64_t bytes, std::uint64_t total)> progress = {};
};

/// Result of loading a worker's own slices.
struct LoadOutcome {
  bool is_whole = true;
  /// The failure, without the attempt; nothing if another worker caused it.
  std::optional<messages::Unloadable> failure{};
};

/// Loads this worker's own slices and the counts of updates, and verifies every chunk it reads.
[[nodiscard]] LoadOutcome load_checkpoint(const std::filesystem::path& checkpoint,
                                          const StateLoad& load);

/// All-gathers the weights and copies them to the device. All workers call it when their own slices
/// are filled. @throws CommError naming a silent worker.
void share_weights(const StateLoad& load);

/// Waits until all workers call it, because workers of a host may share the weights' memory and
/// still write initial values. @return each worker's `word`.
[[nodiscard]] std::vector<std::uint64_t> agree_on_load(std::uint64_t word, const StateLoad& load);

/// Loads one network's weights from a file; its average begins with them too. All workers call it,
/// for networks without a history. @pre they have met in agree_on_load
/// @param key  of the job, for messages. @throws ConfigError naming key, file and tensor.
void load_initial_weights(const std::string& key, const std::filesystem::path& file,
                          NetworkState& network);

}  // namespace gangway::worker
