// SPDX-License-Identifier: MIT
#include "coordinator/resume/snapshot_inventory.hpp"

#include <ranges>

namespace gangway::coordinator {

void SnapshotInventory::add(WorkerIndex holder, const SnapshotId& id, int part) {
  if (part >= 0 && part < id.num_workers) {
    holders_[id][part].insert(holder);
  }
}

void SnapshotInventory::remove(WorkerIndex holder, const SnapshotId& id, int part) {
  const auto found = holders_.find(id);
  if (found == holders_.end()) {
    return;
  }
  const auto holders = found->second.find(part);
  if (holders == found->second.end()) {
    return;
  }
  holders->second.erase(holder);
  if (holders->second.empty()) {
    found->second.erase(holders);
  }
}

std::optional<WholeSnapshot> SnapshotInventory::newest_after(
    std::int64_t step, const std::function<bool(const SnapshotId&)>& is_wanted) const {
  for (const auto& [id, parts] : holders_ | std::views::reverse) {
    if (id.step <= step) {
      break;
    }
    if (static_cast<int>(parts.size()) == id.num_workers && (!is_wanted || is_wanted(id))) {
      WholeSnapshot whole{.id = id, .holders = {}};
      for (const auto& [part, holders] : parts) {
        whole.holders.emplace_back(holders.begin(), holders.end());
      }
      return whole;
    }
  }
  return std::nullopt;
}

std::optional<MissingPart> SnapshotInventory::missing_after(std::int64_t step) const {
  if (holders_.empty() || holders_.rbegin()->first.step <= step) {
    return std::nullopt;
  }
  const auto& [id, parts] = *holders_.rbegin();
  for (int part = 0; part < id.num_workers; ++part) {
    if (!parts.contains(part)) {
      return MissingPart{id, part};
    }
  }
  return std::nullopt;
}

}  // namespace gangway::coordinator
