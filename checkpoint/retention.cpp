// SPDX-License-Identifier: MIT
// The deleting half of checkpoint/directory.hpp: nothing that the store did not write is ever
// removed.
#include <algorithm>
#include <cerrno>
#include <cstdio>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checkpoint/directory.hpp"
#include "checkpoint/durable_file.hpp"
#include "checkpoint/names.hpp"
#include "checkpoint/owner.hpp"
#include "job/errors.hpp"

namespace gangway::checkpoint {

namespace fs = std::filesystem;

namespace {

bool is_real_directory(const fs::path& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

bool holds_only_own_files(const fs::path& directory) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    if (!is_own_file_name(entry.path().filename().string()) || entry.is_directory(error)) {
      return false;
    }
  }
  return !error;
}

/// Unlinks our files, then the folder, which stays when something foreign is in it. True when it is
/// gone.
bool remove_own_folder(const fs::path& directory) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    if (is_own_file_name(entry.path().filename().string())) {
      (void)::unlink(entry.path().c_str());
    }
  }
  return ::rmdir(directory.c_str()) == 0;
}

/// Takes the checkpoint's name away first, so that a crash in between leaves no half of it under
/// that name.
bool remove_checkpoint(const CheckpointEntry& entry) {
  const fs::path doomed = entry.path.parent_path() / doomed_name(entry.step);
  if (std::rename(entry.path.c_str(), doomed.c_str()) != 0) {
    throw EnvironmentError(fmt::format("{}: old checkpoint cannot be deleted: {}",
                                       entry.path.string(), cause_of(errno)));
  }
  return remove_own_folder(doomed);
}

}  // namespace

std::vector<fs::path> remove_old(const fs::path& checkpoints_dir, int keep) {
  if (keep < 1) {
    throw InvariantError(fmt::format("checkpoints to keep: {}, at least 1 is needed", keep));
  }
  const std::vector<CheckpointEntry> entries = list_checkpoints(checkpoints_dir);
  int kept = 0;
  std::vector<fs::path> removed;
  std::vector<const CheckpointEntry*> surplus;
  for (const CheckpointEntry& entry : entries) {
    if (kept >= keep) {
      surplus.push_back(&entry);
    } else if (entry.status == CheckpointStatus::kComplete) {
      ++kept;
    }
  }
  std::reverse(surplus.begin(),
               surplus.end());  // oldest first: a crash in between leaves the newer ones
  for (const CheckpointEntry* entry : surplus) {
    if (entry->manifest && holds_only_own_files(entry->path) && remove_checkpoint(*entry)) {
      removed.push_back(entry->path);
    }
  }
  return removed;
}

std::vector<fs::path> remove_stale_temporaries(const fs::path& checkpoints_dir) {
  std::vector<fs::path> stale;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(checkpoints_dir, error)) {
    const std::string name = entry.path().filename().string();
    if (!is_real_directory(entry.path())) {
      continue;
    }
    const bool is_dead_temporary =
        parse_temporary_name(name) && owner_state(entry.path()) == OwnerState::kDead;
    if (is_dead_temporary || parse_doomed_name(name)) {
      stale.push_back(entry.path());
    }
  }
  std::erase_if(stale, [](const fs::path& path) { return !remove_own_folder(path); });
  return stale;
}

}  // namespace gangway::checkpoint
