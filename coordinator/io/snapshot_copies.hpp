// SPDX-License-Identifier: MIT
// Copies a failed run's snapshots to the disk: the part that waits for the disk. Called on the
// thread of coordinator/io/disk_thread.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "checkpoint/snapshots/snapshot_files.hpp"

namespace gangway::coordinator {

/// Result of KeepSnapshots.
struct KeepResult {
  std::int64_t from_step = 0;
  std::size_t copied = 0;  ///< slots copied
  std::string error;       ///< empty: all slots are on the disk
};

[[nodiscard]] KeepResult carry_out(const checkpoint::KeepSnapshots& keep);

}  // namespace gangway::coordinator
