// SPDX-License-Identifier: MIT
// Which snapshot: coordinator and workers name it so to one another, and find it so in memory and
// on disks. A value.
#pragma once

#include <compare>
#include <cstdint>

namespace gangway {

/// The newest is the greatest.
struct SnapshotId {
  std::int64_t step = 0;
  std::int64_t incarnation = 0;  ///< start of the run: another may have got there by other bits
  std::int64_t epoch = 0;        ///< of the membership, within that start
  int num_workers = 1;           ///< that took it, each a part
  auto operator<=>(const SnapshotId&) const = default;
};

}  // namespace gangway
