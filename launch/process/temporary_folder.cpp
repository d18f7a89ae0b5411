// SPDX-License-Identifier: MIT
#include "launch/process/temporary_folder.hpp"

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/errors.hpp"
#include "base/shared_segment.hpp"
#include "checkpoint/snapshots/snapshot_files.hpp"
#include "run/run_files.hpp"

namespace gangway::launch {
namespace {

constexpr std::string_view kPrefix = "gangway-scratch-";
// Age below which a folder may not be locked by its owner yet.
constexpr auto kYoung = std::chrono::minutes(1);

bool is_left(const std::filesystem::directory_entry& entry) {
  struct stat status {};
  if (!entry.path().filename().string().starts_with(kPrefix) ||
      ::lstat(entry.path().c_str(), &status) != 0 || !S_ISDIR(status.st_mode) ||
      status.st_uid != ::geteuid()) {
    return false;
  }
  const auto made = std::chrono::system_clock::from_time_t(status.st_mtime);
  return std::chrono::system_clock::now() - made > kYoung;
}

/// Removes a folder and its runs, run directories first. A killed run's shared memory is left over
/// only if the run directory is gone but its parent exists.
void remove_with_runs(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  std::error_code ignored;  // the next owner retries
  std::vector<fs::path> runs;
  for (fs::recursive_directory_iterator entry(folder, ignored), end; entry != end;
       entry.increment(ignored)) {
    if (entry->path().filename() == kPlacementFile) {
      runs.push_back(entry->path().parent_path());
    }
  }
  for (const fs::path& run : runs) {
    fs::remove_all(run, ignored);
  }
  try {
    if (!runs.empty()) {
      (void)checkpoint::reap_snapshots(kSharedMemoryFolder);
    }
  } catch (const Error&) {  // they stay until `gangway snapshots` removes them
  }
  fs::remove_all(folder, ignored);
}

/// Removes folders that killed processes of this user left.
void sweep(const std::filesystem::path& parent) {
  std::error_code ignored;
  for (std::filesystem::directory_iterator entry(parent, ignored), end; entry != end;
       entry.increment(ignored)) {
    if (is_left(*entry) && hold_folder(entry->path())) {
      remove_with_runs(entry->path());
    }
  }
}

}  // namespace

FileDescriptor hold_folder(const std::filesystem::path& folder) {
  FileDescriptor held(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  return held && ::flock(held.get(), LOCK_EX | LOCK_NB) == 0 ? std::move(held) : FileDescriptor();
}

TemporaryFolder::TemporaryFolder(const std::filesystem::path& parent) {
  sweep(parent);
  std::string name = (parent / std::string(kPrefix)).string() + "XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) {
    throw EnvironmentError(fmt::format("{} cannot be made: {}: free space, or set TMPDIR", name,
                                       std::strerror(errno)));
  }
  held_ = hold_folder(name);
  // A subfolder, because the owner's programs lock folders, too.
  path_ = std::filesystem::path(name) / "files";
  std::filesystem::create_directory(path_);
}

TemporaryFolder::~TemporaryFolder() { remove_with_runs(path_.parent_path()); }

}  // namespace gangway::launch
