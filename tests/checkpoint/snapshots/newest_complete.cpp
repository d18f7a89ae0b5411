// SPDX-License-Identifier: MIT
#include "tests/checkpoint/snapshots/newest_complete.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/errors.hpp"

namespace gangway::checkpoint {
namespace {

namespace fs = std::filesystem;

using Warn = std::function<void(std::string)>;

/// Opens the parts of one snapshot. @throws CheckpointError naming missing or damaged parts.
std::vector<SnapshotFile> open_parts(std::span<const SnapshotEntry> group, const Warn& warn) {
  std::vector<SnapshotFile> parts;
  const int num_workers = group.front().id.num_workers;
  for (int worker = 0; worker < num_workers; ++worker) {
    std::string damage;
    for (const SnapshotEntry& entry : group) {
      if (entry.worker != worker || static_cast<int>(parts.size()) > worker) {
        continue;
      }
      try {
        parts.emplace_back(entry.file);
        if (!damage.empty()) {
          warn(fmt::format("{}; its replica {} is used instead", damage, entry.file.string()));
        }
      } catch (const CheckpointError& error) {
        damage = error.what();
      }
    }
    if (static_cast<int>(parts.size()) <= worker) {
      throw CheckpointError(!damage.empty()
                                ? damage
                                : fmt::format("snapshot of step {}: the part of worker {} of {} is "
                                              "not on this host",
                                              group.front().id.step, worker, num_workers));
    }
  }
  return parts;
}

}  // namespace

std::optional<CompleteSnapshot> newest_complete(std::span<const fs::path> folders,
                                                const std::string& key, const Warn& warn,
                                                std::int64_t newer_than) {
  const std::vector<SnapshotEntry> entries = find_snapshots(folders, key, warn);
  for (auto first = entries.begin(); first != entries.end();) {
    const auto last = std::find_if(
        first, entries.end(), [&](const SnapshotEntry& entry) { return entry.id != first->id; });
    if (first->id.step > newer_than) {
      try {
        return CompleteSnapshot{.id = first->id, .parts = open_parts({first, last}, warn)};
      } catch (const CheckpointError& error) {
        warn(fmt::format("{}; an older state is used", error.what()));
      }
    }
    first = last;
  }
  return std::nullopt;
}

}  // namespace gangway::checkpoint
