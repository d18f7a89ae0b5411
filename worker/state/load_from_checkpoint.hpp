// SPDX-License-Identifier: MIT
// Fills the networks of all workers from a checkpoint: each reads its own slices, and the weights
// then travel to all. So every byte is read once over all workers, on any layout, and no worker
// needs more memory than in training. Compute thread; the gather runs on the lane.
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
  /// Bytes read of all that this worker has to read; about every second.
  std::function<void(std::uint64_t bytes, std::uint64_t total)> progress = {};
};

/// How a worker's own slices were filled.
struct LoadOutcome {
  bool is_whole = true;
  /// Nothing, where it is another worker's fault; without the attempt.
  std::optional<messages::Unloadable> failure{};
};

/// This worker's own slices, and the counts of updates: every chunk that is read is verified.
[[nodiscard]] LoadOutcome load_checkpoint(const std::filesystem::path& checkpoint,
                                          const StateLoad& load);

/// All workers call it when all their own slices are filled: the weights then travel to all, and to
/// the device. @throws CommError naming a silent worker.
void share_weights(const StateLoad& load);

/// Waits until all workers call it; weights may be memory that the workers of a host share, and
/// nobody may still be putting initial values there. @return each worker's `word`.
[[nodiscard]] std::vector<std::uint64_t> agree_on_load(std::uint64_t word, const StateLoad& load);

/// Fills one network with weights from a file, which its average begins with too. All workers call
/// it, for networks without a history. @pre they have met in agree_on_load
/// @param key  of the job, for messages. @throws ConfigError naming key, file and tensor.
void load_initial_weights(const std::string& key, const std::filesystem::path& file,
                          NetworkState& network);

}  // namespace gangway::worker
