// SPDX-License-Identifier: MIT
// Loads all workers' networks from a snapshot whose parts lie in several hosts' memory. Each worker
// takes its own slices from its host, and the rest from the workers that hold them. Every transfer
// is verified by hash at both ends. Compute thread; messages run on the lane.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "worker/link/state_link.hpp"
#include "worker/state/load_from_checkpoint.hpp"

namespace gangway::worker {

/// Folders of snapshots on this host.
struct SnapshotStore {
  std::vector<std::filesystem::path> folders;
  std::string key;  ///< of the run
};

/// Returns the parts on this host, each once; reports damaged headers in one line each.
[[nodiscard]] messages::Inventory found_parts(const SnapshotStore& store);

/// Loads the snapshot that `begin` names; all workers call it with the same `begin`. Call
/// share_weights() afterwards.
/// @throws CommError naming a silent worker.
[[nodiscard]] LoadOutcome load_snapshot(const SnapshotStore& store, const messages::Begin& begin,
                                        const StateLoad& load);

}  // namespace gangway::worker
