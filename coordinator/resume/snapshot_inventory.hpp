// SPDX-License-Identifier: MIT
// Tracks which host holds which snapshot parts, and finds the newest snapshot that is complete.
// Pure; driven by RunCore, read by ResumeChoice.
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

/// A snapshot part that no host holds.
struct MissingPart {
  SnapshotId id;
  int part = 0;
};

class SnapshotInventory {
 public:
  /// Adds the part of old worker `part`, found on the host of this start's worker `holder`. Ignores
  /// parts that no layout has.
  void add(WorkerIndex holder, const SnapshotId& id, int part);
  /// Removes a damaged part on the host of `holder`.
  void remove(WorkerIndex holder, const SnapshotId& id, int part);
  /// Returns the newest complete snapshot after `step` that `is_wanted` accepts, if any.
  [[nodiscard]] std::optional<WholeSnapshot> newest_after(
      std::int64_t step, const std::function<bool(const SnapshotId&)>& is_wanted = {}) const;
  /// Returns a missing part of the newest snapshot, if that is after `step` and incomplete.
  [[nodiscard]] std::optional<MissingPart> missing_after(std::int64_t step) const;

 private:
  std::map<SnapshotId, std::map<int, std::set<WorkerIndex>>> holders_;  // by part
};

}  // namespace gangway::coordinator
