// SPDX-License-Identifier: MIT
// What all workers are told of all workers, in a Welcome and a Begin, as it is sent: what is alike
// is told once. Otherwise a start of W workers would take W * W numbers. For the codec. Pure.
#pragma once

#include <tuple>
#include <vector>

#include "job/layout/layout.hpp"
#include "run/messages/messages.hpp"

namespace gangway::messages {

/// first, first + 1, …, or so many of the same.
struct Run {
  int first = 0;
  int count = 0;
  static auto fields(auto& it) { return std::tie(it.first, it.count); }
};

struct PackedGroup {
  std::vector<Run> workers;
  std::vector<Run> sizes;  ///< of ranges: so many of the same
  std::vector<BlockRange> chunks;
  static auto fields(auto& it) { return std::tie(it.workers, it.sizes, it.chunks); }
};

struct PackedHolders {
  int parts = 0;  ///< one after another, that the same workers hold
  std::vector<Run> workers;
  static auto fields(auto& it) { return std::tie(it.parts, it.workers); }
};

struct PackedSnapshot {
  SnapshotId id;
  std::vector<PackedHolders> holders;
  static auto fields(auto& it) { return std::tie(it.id, it.holders); }
};

/// @pre group.ranges join, as those of a layout do
[[nodiscard]] PackedGroup packed(const NetworkGroup& group);
[[nodiscard]] PackedSnapshot packed(const WholeSnapshot& snapshot);
/// @throws InvariantError where so much cannot be
[[nodiscard]] NetworkGroup unpacked(PackedGroup packed);
[[nodiscard]] WholeSnapshot unpacked(const PackedSnapshot& packed);

}  // namespace gangway::messages
