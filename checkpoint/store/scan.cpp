// SPDX-License-Identifier: MIT
#include "checkpoint/store/scan.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "checkpoint/format/manifest.hpp"
#include "checkpoint/format/names.hpp"
#include "checkpoint/format/state_index.hpp"
#include "checkpoint/format/stored_state.hpp"
#include "checkpoint/store/verify.hpp"
#include "checkpoint/store/warn.hpp"

namespace gangway::checkpoint {

namespace fs = std::filesystem;

namespace {

CheckpointEntry inspect(const fs::path& path, std::int64_t step) {
  CheckpointEntry entry{.path = path, .step = step};
  try {
    entry.manifest = read_manifest(path);
    for (const ManifestFile& file : entry.manifest->files) {
      entry.bytes += file.bytes;
    }
    require_files(path, *entry.manifest);
    entry.status = CheckpointStatus::kComplete;
  } catch (const CheckpointError& error) {
    entry.damage = error.what();
  }
  return entry;
}

/// Returns (step, path) of all folders with a checkpoint's name, newest first.
std::vector<std::pair<std::int64_t, fs::path>> step_folders(const fs::path& checkpoints_dir) {
  std::vector<std::pair<std::int64_t, fs::path>> folders;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(checkpoints_dir, error)) {
    if (const auto step = parse_step_name(entry.path().filename().string())) {
      folders.emplace_back(*step, entry.path());
    }
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    throw CheckpointError(
        fmt::format("{}: cannot be listed: {}", checkpoints_dir.string(), error.message()));
  }
  std::sort(folders.rbegin(), folders.rend());
  return folders;
}

/// Result of a walk from the newest checkpoint to the first valid one.
struct Look {
  std::optional<Found> found;
  std::vector<std::string> refused;
  bool has_lost_one = false;  ///< a listed checkpoint was gone when it was read

  [[nodiscard]] bool met_nothing() const { return !found && refused.empty() && !has_lost_one; }
};

Look look_once(const fs::path& checkpoints_dir, Depth depth, std::optional<std::int64_t> before) {
  Look look;
  for (const auto& [step, path] : step_folders(checkpoints_dir)) {
    if (before && step >= *before) {
      continue;
    }
    try {
      look.found = Found{.path = path,
                         .step = step,
                         .manifest = depth == Depth::kContents ? verify_checkpoint(path)
                                                               : StoredState(path).manifest()};
      break;
    } catch (const CheckpointError& error) {
      if (is_removed(path)) {
        look.has_lost_one = true;
      } else {
        look.refused.emplace_back(error.what());
      }
    }
  }
  return look;
}

}  // namespace

bool is_removed(const fs::path& checkpoint) {
  std::error_code ignored;
  return fs::symlink_status(checkpoint, ignored).type() == fs::file_type::not_found;
}

std::vector<CheckpointEntry> list_checkpoints(const fs::path& checkpoints_dir) {
  std::vector<CheckpointEntry> entries;
  // The run may remove an old checkpoint during this scan. This is no damage: newer ones exist,
  // which the listing may have missed.
  const auto give_up = std::chrono::steady_clock::now() + kLongestLook;
  bool is_settled = false;
  while (!is_settled && std::chrono::steady_clock::now() < give_up) {
    entries.clear();
    is_settled = true;
    for (const auto& [step, path] : step_folders(checkpoints_dir)) {
      CheckpointEntry entry = inspect(path, step);
      if (entry.status == CheckpointStatus::kComplete || !is_removed(path)) {
        entries.push_back(std::move(entry));
      } else {
        is_settled = false;
      }
    }
  }
  return entries;
}

const CheckpointEntry* newest_complete(std::span<const CheckpointEntry> entries) {
  const auto found =
      std::ranges::find(entries, CheckpointStatus::kComplete, &CheckpointEntry::status);
  return found == entries.end() ? nullptr : &*found;
}

CheckpointEntry find_checkpoint(const fs::path& checkpoints_dir, std::optional<std::int64_t> step) {
  for (CheckpointEntry& entry : list_checkpoints(checkpoints_dir)) {
    if (step ? entry.step == *step : entry.status == CheckpointStatus::kComplete) {
      return std::move(entry);
    }
  }
  throw CheckpointError(
      step ? fmt::format("{}: has no checkpoint of step {}: see 'gangway checkpoints ls {}'",
                         checkpoints_dir.string(), *step, checkpoints_dir.parent_path().string())
           : fmt::format("{}: has no complete checkpoint", checkpoints_dir.string()));
}

std::optional<Found> newest_valid(const fs::path& checkpoints_dir, const Warn& warn, Depth depth,
                                  std::optional<std::int64_t> before) {
  const auto give_up = std::chrono::steady_clock::now() + kLongestLook;
  Look look = look_once(checkpoints_dir, depth, before);
  if (look.met_nothing()) {
    look = look_once(checkpoints_dir, depth, before);  // a listing may miss both old and new (NFS)
  }
  // The run may delete a checkpoint during this scan; then newer ones exist.
  while (!look.found && look.has_lost_one && std::chrono::steady_clock::now() < give_up) {
    look = look_once(checkpoints_dir, depth, before);
  }
  for (const std::string& damage : look.refused) {
    warn(look.found ? fmt::format("{}; resuming from the older {}", damage,
                                  look.found->path.filename().string())
                    : fmt::format("{}; no older checkpoint is valid", damage));
  }
  return look.found;
}

}  // namespace gangway::checkpoint
