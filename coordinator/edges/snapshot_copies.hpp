// SPDX-License-Identifier: MIT
// Snapshots that a failed run leaves on the disk: the part of it that waits for the disk, as work
// for coordinator/edges/disk_thread.hpp. Called on that thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "checkpoint/snapshots/snapshot_files.hpp"

namespace gangway::coordinator {

/// What became of KeepSnapshots.
struct KeepResult {
  std::int64_t from_step = 0;
  std::size_t copied = 0;  ///< slots
  std::string error;       ///< empty: all is on the disk
};

[[nodiscard]] KeepResult carry_out(const checkpoint::KeepSnapshots& keep);

}  // namespace gangway::coordinator
