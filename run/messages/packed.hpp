// SPDX-License-Identifier: MIT
// Packs the parts of Welcome and Begin that list all workers, as runs of equal or consecutive
// values. Otherwise a start of W workers would send W * W numbers. Called by the codec. Pure.
#pragma once

#include <tuple>
#include <vector>

#include "job/layout/layout.hpp"
#include "run/messages/messages.hpp"

namespace gangway::messages {

/// `count` numbers: first, first + 1, …, or first each time.
struct Run {
  int first = 0;
  int count = 0;
  static auto fields(auto& it) { return std::tie(it.first, it.count); }
};

struct PackedGroup {
  std::vector<Run> workers;
  std::vector<Run> sizes;  ///< sizes of ranges: `count` equal sizes each
  std::vector<BlockRange> chunks;
  static auto fields(auto& it) { return std::tie(it.workers, it.sizes, it.chunks); }
};

struct PackedHolders {
  int parts = 0;  ///< number of consecutive parts that the same workers hold
  std::vector<Run> workers;
  static auto fields(auto& it) { return std::tie(it.parts, it.workers); }
};

struct PackedSnapshot {
  SnapshotId id;
  std::vector<PackedHolders> holders;
  static auto fields(auto& it) { return std::tie(it.id, it.holders); }
};

/// @pre group.ranges are contiguous, as in a layout
[[nodiscard]] PackedGroup packed(const NetworkGroup& group);
[[nodiscard]] PackedSnapshot packed(const WholeSnapshot& snapshot);
/// @throws InvariantError if the counts are impossibly large
[[nodiscard]] NetworkGroup unpacked(PackedGroup packed);
[[nodiscard]] WholeSnapshot unpacked(const PackedSnapshot& packed);

}  // namespace gangway::messages
