// SPDX-License-Identifier: MIT
// Deletes checkpoints and temporary folders; never removes files that the store did not write.
#include "checkpoint/store/retention.hpp"

#include <algorithm>
#include <cerrno>
#include <map>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/errors.hpp"
#include "base/file_descriptor.hpp"
#include "checkpoint/files/durable_file.hpp"
#include "checkpoint/format/names.hpp"
#include "checkpoint/store/owner.hpp"
#include "checkpoint/store/scores.hpp"

namespace gangway::checkpoint {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kPinSuffix = ".pin";

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

/// Unlinks our files, then the folder; a foreign file keeps it. Returns whether it is gone.
bool remove_own_folder(const FileSystem& files, const fs::path& directory) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    if (is_own_file_name(entry.path().filename().string())) {
      files.remove(entry.path());
    }
  }
  return files.remove_folder(directory) == 0;
}

/// Renames the checkpoint before deleting it, so that a crash leaves no half checkpoint under its
/// name.
bool remove_entry(const FileSystem& files, const CheckpointEntry& entry) {
  const fs::path doomed = entry.path.parent_path() / doomed_name(entry.step);
  if (files.rename(entry.path, doomed) != 0) {
    throw EnvironmentError(fmt::format("{}: old checkpoint cannot be deleted: {}",
                                       entry.path.string(), cause_of(errno)));
  }
  remove_score(entry.path.parent_path(), entry.step);
  return remove_own_folder(files, doomed);
}

bool is_complete(const CheckpointEntry& entry) {
  return entry.status == CheckpointStatus::kComplete;
}

/// Returns the step of the first complete checkpoint in each interval [n * interval, (n + 1) *
/// interval), n > 0.
std::set<std::int64_t> kept_for_good(std::span<const CheckpointEntry> entries,
                                     std::int64_t interval) {
  std::map<std::int64_t, std::int64_t> first_of;  // interval → step; the entries are newest first
  for (const CheckpointEntry& entry : entries) {
    if (interval > 0 && is_complete(entry) && entry.step >= interval) {
      first_of[entry.step / interval] = entry.step;
    }
  }
  std::set<std::int64_t> steps;
  for (const auto& [stretch, step] : first_of) {
    steps.insert(step);
  }
  return steps;
}

fs::path pin_path(const fs::path& checkpoints_dir, std::int64_t step) {
  return checkpoints_dir / (step_name(step) + std::string(kPinSuffix));
}

}  // namespace

std::vector<const CheckpointEntry*> surplus_of(std::span<const CheckpointEntry> entries,
                                               const std::set<std::int64_t>& held,
                                               const RetentionPolicy& policy) {
  if (policy.keep < 1) {
    throw InvariantError(fmt::format("checkpoints to keep: {}, at least 1 is needed", policy.keep));
  }
  const std::set<std::int64_t> for_good = kept_for_good(entries, policy.keep_every_steps);
  int newest = 0;
  std::vector<const CheckpointEntry*> surplus;
  for (const CheckpointEntry& entry : entries) {
    if (newest < policy.keep) {
      newest += is_complete(entry) ? 1 : 0;
    } else if (!for_good.contains(entry.step) && !held.contains(entry.step)) {
      surplus.push_back(&entry);
    }
  }
  // Oldest first: a crash keeps the newer ones.
  std::reverse(surplus.begin(), surplus.end());
  return surplus;
}

std::vector<fs::path> remove_old(const fs::path& checkpoints_dir, const RetentionPolicy& policy,
                                 const FileSystem& files) {
  const std::vector<CheckpointEntry> entries = list_checkpoints(checkpoints_dir);
  std::set<std::int64_t> held = pinned_steps(checkpoints_dir);
  held.insert(policy.in_use.begin(), policy.in_use.end());
  held.merge(best_steps(read_scores(checkpoints_dir, entries), policy.keep_best));
  std::vector<fs::path> removed;
  for (const CheckpointEntry* entry : surplus_of(entries, held, policy)) {
    if (entry->manifest && holds_only_own_files(entry->path) && remove_entry(files, *entry)) {
      removed.push_back(entry->path);
    }
  }
  return removed;
}

void remove_checkpoint(const CheckpointEntry& entry) {
  if (!entry.manifest) {
    throw CheckpointError(
        fmt::format("{}: its manifest cannot be read, so nothing proves that it is a checkpoint: "
                    "delete the folder by hand",
                    entry.path.string()));
  }
  if (!holds_only_own_files(entry.path)) {
    throw CheckpointError(fmt::format(
        "{}: holds files that are not of a checkpoint: move them away first", entry.path.string()));
  }
  (void)unpin_checkpoint(entry.path.parent_path(), entry.step);
  if (!remove_entry(PosixFileSystem(), entry)) {
    throw EnvironmentError(fmt::format("{}: not all of its files can be deleted; see {}/.old-*",
                                       entry.path.string(), entry.path.parent_path().string()));
  }
}

std::set<std::int64_t> pinned_steps(const fs::path& checkpoints_dir) {
  std::set<std::int64_t> steps;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(checkpoints_dir, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(kPinSuffix)) {
      continue;
    }
    const std::string_view stem(name.data(), name.size() - kPinSuffix.size());
    if (const auto step = parse_step_name(stem)) {
      steps.insert(*step);
    }
  }
  return steps;
}

void pin_checkpoint(const fs::path& checkpoints_dir, std::int64_t step) {
  const fs::path pin = pin_path(checkpoints_dir, step);
  const FileDescriptor file(
      ::open(pin.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644));
  if (!file) {
    throw EnvironmentError(fmt::format("{}: cannot be made: {}", pin.string(), cause_of(errno)));
  }
  sync_directory(PosixFileSystem(), checkpoints_dir);
}

bool unpin_checkpoint(const fs::path& checkpoints_dir, std::int64_t step) {
  const fs::path pin = pin_path(checkpoints_dir, step);
  if (::unlink(pin.c_str()) == 0) {
    return true;
  }
  if (errno != ENOENT) {
    throw EnvironmentError(fmt::format("{}: cannot be removed: {}", pin.string(), cause_of(errno)));
  }
  return false;
}

std::vector<fs::path> remove_stale_temporaries(const fs::path& checkpoints_dir,
                                               const FileSystem& files) {
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
  std::erase_if(stale, [&](const fs::path& path) { return !remove_own_folder(files, path); });
  return stale;
}

}  // namespace gangway::checkpoint
