// SPDX-License-Identifier: MIT
// Identifies a snapshot in messages between coordinator and workers, in memory and on disks.
#pragma once

#include <compare>
#include <cstdint>

namespace gangway {

/// The id of a snapshot; newer snapshots have greater ids.
struct SnapshotId {
  std::int64_t step = 0;
  std::int64_t incarnation = 0;  ///< start of the run: another start may compute other bits
  std::int64_t epoch = 0;        ///< epoch of the membership, within that start
  int num_workers = 1;           ///< workers that took it, each one part
  auto operator<=>(const SnapshotId&) const = default;
};

}  // namespace gangway
