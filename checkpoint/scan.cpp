// SPDX-License-Identifier: MIT
// The reading half of checkpoint/directory.hpp.
#include <algorithm>

#include <fmt/format.h>

#include "checkpoint/directory.hpp"
#include "checkpoint/names.hpp"
#include "checkpoint/state_index.hpp"
#include "checkpoint/stored_state.hpp"
#include "job/errors.hpp"

namespace gangway::checkpoint {

namespace fs = std::filesystem;

namespace {

CheckpointEntry inspect(const fs::path& path, std::int64_t step) {
  CheckpointEntry entry;
  entry.path = path;
  entry.step = step;
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

/// (step, path) of everything that has a checkpoint's name, newest first.
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

}  // namespace

std::vector<CheckpointEntry> list_checkpoints(const fs::path& checkpoints_dir) {
  std::vector<CheckpointEntry> entries;
  for (const auto& [step, path] : step_folders(checkpoints_dir)) {
    entries.push_back(inspect(path, step));
  }
  return entries;
}

std::optional<Found> newest_valid(const fs::path& checkpoints_dir, const Warn& warn, Depth depth,
                                  std::optional<std::int64_t> before) {
  std::vector<std::string> refused;
  std::optional<Found> found;
  for (const auto& [step, path] : step_folders(checkpoints_dir)) {
    if (before && step >= *before) {
      continue;
    }
    try {
      found = Found{.path = path,
                    .step = step,
                    .manifest = depth == Depth::kContents ? verify_checkpoint(path)
                                                          : StoredState(path).manifest()};
      break;
    } catch (const CheckpointError& error) {
      refused.emplace_back(error.what());
    }
  }
  for (const std::string& damage : refused) {
    warn(found ? fmt::format("{}; going on from the older {}", damage,
                             found->path.filename().string())
               : fmt::format("{}; no older checkpoint is valid", damage));
  }
  return found;
}

}  // namespace gangway::checkpoint
