// SPDX-License-Identifier: MIT
// Reads values from snapshots in memory. Called by `gangway checkpoints scrub` to repair a damaged
// checkpoint. Any thread, one at a time.
#pragma once

#include <vector>

#include "checkpoint/snapshots/snapshot_files.hpp"
#include "checkpoint/tools/repair.hpp"

namespace gangway::checkpoint {

/// Returns a source of the parts' elements; the parts may belong to any subset of workers.
[[nodiscard]] ElementSource elements_of(std::vector<SnapshotFile> parts);

}  // namespace gangway::checkpoint
