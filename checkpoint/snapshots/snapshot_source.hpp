// SPDX-License-Identifier: MIT
// A snapshot in memory as a source of values: what `gangway checkpoints scrub` repairs a damaged
// checkpoint from. Any thread, one at a time.
#pragma once

#include <memory>
#include <vector>

#include "checkpoint/snapshots/snapshot_files.hpp"
#include "checkpoint/tools/repair.hpp"

namespace gangway::checkpoint {

/// Elements of the parts' pieces; parts may be of any workers, and of some only.
[[nodiscard]] ElementSource elements_of(std::vector<SnapshotFile> parts);

}  // namespace gangway::checkpoint
