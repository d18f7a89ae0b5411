// SPDX-License-Identifier: MIT
#include "checkpoint/snapshots/snapshot_runs.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/errors.hpp"
#include "checkpoint/snapshots/snapshot_slot.hpp"
#include "checkpoint/snapshots/snapshot_slot_file.hpp"

namespace gangway::checkpoint {
namespace {

namespace fs = std::filesystem;

struct ReadSlot {
  fs::path run_directory;
  std::optional<std::int64_t> step;  // set if the slot is complete
};

/// Returns nothing if the slot has no sound header.
std::optional<ReadSlot> read_slot(const fs::path& file) {
  try {
    const MappedMemory memory = map_slot_file(file);
    const std::span bytes{static_cast<const std::byte*>(memory.get().data), memory.get().bytes};
    const ParsedSlot slot = parse_slot(bytes, file.string());
    ReadSlot read{.run_directory = slot.run_directory, .step = {}};
    if (const auto id = id_of(slot, bytes, file.string())) {
      read.step = id->step;
    }
    return read;
  } catch (const CheckpointError&) {
    return std::nullopt;
  }
}

/// Returns the allocated bytes, which may differ from the file's length.
std::size_t bytes_taken(const struct stat& status) {
  constexpr std::size_t kBlock = 512;  // stat(2)
  return static_cast<std::size_t>(status.st_blocks) * kBlock;
}

void add(RunSnapshots& run, const fs::path& file, const struct stat& status) {
  const fs::file_time_type sign = last_sign_of_life(run.run_directory, file);
  run.last_sign = run.files == 0 ? sign : std::max(run.last_sign, sign);
  run.files += 1;
  run.bytes += bytes_taken(status);
  run.is_in_use = run.is_in_use || owner_of_slot(file) == SlotOwner::kLiving;
}

}  // namespace

fs::file_time_type last_sign_of_life(const fs::path& run_directory, const fs::path& file) {
  std::error_code error;
  std::optional<fs::file_time_type> last;
  if (const auto time = fs::last_write_time(file, error); !error) {
    last = time;
  }
  for (auto entry = fs::directory_iterator(run_directory, error);
       !error && entry != fs::directory_iterator(); entry.increment(error)) {
    std::error_code gone;
    if (const auto time = entry->last_write_time(gone); !gone) {
      last = last ? std::max(*last, time) : time;
    }
  }
  return last.value_or(fs::file_time_type::clock::now());  // all slots are gone: nothing to keep
}

SnapshotSurvey survey_snapshots(const fs::path& folder) {
  std::map<fs::path, RunSnapshots> runs;
  std::map<uid_t, ForeignSnapshots> foreign;
  for (const fs::path& file : slot_files(std::span(&folder, 1), {})) {
    struct stat status {};
    if (::lstat(file.c_str(), &status) != 0) {
      continue;  // removed meanwhile
    }
    if (status.st_uid != ::geteuid()) {
      ForeignSnapshots& others = foreign[status.st_uid];
      others.user = status.st_uid;
      others.files += 1;
      others.bytes += bytes_taken(status);
    } else if (const auto slot = read_slot(file)) {
      RunSnapshots& run = runs[slot->run_directory];
      run.run_directory = slot->run_directory;
      run.newest_step = std::max(run.newest_step, slot->step);
      add(run, file, status);
    }
  }
  SnapshotSurvey survey;
  for (auto& [directory, run] : runs) {
    survey.runs.push_back(std::move(run));
  }
  std::ranges::stable_sort(survey.runs, std::greater{}, &RunSnapshots::bytes);
  for (const auto& [user, others] : foreign) {
    survey.foreign.push_back(others);
  }
  return survey;
}

RunSnapshots remove_run_snapshots(const std::vector<fs::path>& folders,
                                  const fs::path& run_directory) {
  std::error_code error;
  const fs::path real = fs::canonical(run_directory, error);
  RunSnapshots removed{.run_directory = error ? run_directory : real};
  for (const fs::path& file : slot_files(folders, {})) {
    struct stat status {};
    const auto slot = read_slot(file);
    const bool is_its = slot && slot->run_directory == removed.run_directory;
    if (is_its && ::lstat(file.c_str(), &status) == 0 && remove_slot_file(file)) {
      removed.files += 1;
      removed.bytes += bytes_taken(status);
      removed.newest_step = std::max(removed.newest_step, slot->step);
    }
  }
  return removed;
}

std::string duration_text(std::chrono::seconds duration) {
  using std::chrono::duration_cast;
  if (duration < std::chrono::minutes{2}) {
    return fmt::format("{} s", std::max<std::int64_t>(0, duration.count()));
  }
  if (duration < std::chrono::hours{2}) {
    return fmt::format("{} min", duration_cast<std::chrono::minutes>(duration).count());
  }
  if (duration < std::chrono::days{2}) {
    return fmt::format("{} h", duration_cast<std::chrono::hours>(duration).count());
  }
  return fmt::format("{} days", duration_cast<std::chrono::days>(duration).count());
}

}  // namespace gangway::checkpoint
