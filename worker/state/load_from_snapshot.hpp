// SPDX-License-Identifier: MIT
// Fills the networks of all workers from a snapshot whose parts lie in the memory of several hosts:
// each worker takes its own slices from its host, and the rest from the worker that holds the part.
// Whatever moves is compared with its hash where it lies and where it arrives. Compute thread; the
// talk runs on the lane.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "worker/link/state_link.hpp"
#include "worker/state/load_from_checkpoint.hpp"

namespace gangway::worker {

/// Where snapshots lie on this host.
struct SnapshotShelf {
  std::vector<std::filesystem::path> folders;
  std::string key;  ///< of the run
};

/// The parts on this host, each once; damaged headers cost a line.
[[nodiscard]] messages::Inventory found_parts(const SnapshotShelf& shelf);

/// All workers call it with the same `begin`, which names a snapshot. The weights are to be shared
/// out then (share_weights).
/// @throws CommError naming a silent worker.
[[nodiscard]] LoadOutcome load_snapshot(const SnapshotShelf& shelf, const messages::Begin& begin,
                                        const StateLoad& load);

}  // namespace gangway::worker
