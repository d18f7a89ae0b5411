// SPDX-License-Identifier: MIT
// Which parts of which snapshots lie on whose host, and the newest snapshot that can be put
// together of them. Pure; driven by the Conductor, asked by whoever chooses the start.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "run/messages/messages.hpp"
#include "run/snapshot_id.hpp"

namespace gangway::coordinator {

using messages::WholeSnapshot;

/// A part that nobody has.
struct MissingPart {
  SnapshotId id;
  int part = 0;
};

class SnapshotInventory {
 public:
  /// The host of worker `holder` of this start has the part that worker `part` took. Parts that no
  /// layout has are left out.
  void add(int holder, const SnapshotId& id, int part);
  /// What the host of `holder` has of it is damaged.
  void remove(int holder, const SnapshotId& id, int part);
  /// The newest that is whole and that `is_wanted`; nothing where none is newer than `step`.
  [[nodiscard]] std::optional<WholeSnapshot> newest_after(
      std::int64_t step, const std::function<bool(const SnapshotId&)>& is_wanted = {}) const;
  /// Of the newest there is a part of, if that is newer than `step` and not whole.
  [[nodiscard]] std::optional<MissingPart> missing_after(std::int64_t step) const;

 private:
  std::map<SnapshotId, std::map<int, std::set<int>>> holders_;  // by part
};

}  // namespace gangway::coordinator
