// SPDX-License-Identifier: MIT
#include "run/run_directory.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "base/file_descriptor.hpp"
#include "base/system/poll_until.hpp"
#include "base/text/parse_number.hpp"
#include "job/run_name.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNumberDigits = 5;  // at least; the 100,000th run has six

/// A directory's name `00003-NAME`, split.
struct NumberedName {
  std::int64_t number = 0;
  std::string name;
};

std::optional<NumberedName> split_directory_name(const std::string& directory) {
  const std::size_t dash = directory.find('-');
  if (dash == std::string::npos || dash < kNumberDigits) {
    return std::nullopt;
  }
  const auto number = parse_number<std::int64_t>(directory.substr(0, dash));
  return number && *number >= 0
             ? std::optional(NumberedName{.number = *number, .name = directory.substr(dash + 1)})
             : std::nullopt;
}

struct ExistingRun {
  NumberedName parts;
  fs::path path;
};

std::vector<ExistingRun> existing_runs(const fs::path& outdir) {
  std::vector<ExistingRun> runs;
  std::error_code error;
  for (fs::directory_iterator entry(outdir, error), end; !error && entry != end;
       entry.increment(error)) {
    const auto parts = split_directory_name(entry->path().filename().string());
    std::error_code ignored;
    if (parts && entry->is_directory(ignored)) {
      runs.push_back({*parts, entry->path()});
    }
  }
  return runs;
}

[[noreturn]] void fail_to_make(const fs::path& path, const std::error_code& error) {
  throw EnvironmentError(
      fmt::format("{}: cannot be made: {}; choose an --outdir that you may write to", path.string(),
                  error.message()));
}

void make_folders(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) {
    fail_to_make(path, error);
  }
}

/// Makes the folder, and lets one start of a user choose at a time. Two jobs of one name started
/// together then choose the same folder, and the second fails at its lock. No other user can lock
/// this file.
FileDescriptor lock_folder(const fs::path& outdir, const std::string& name,
                           std::chrono::milliseconds patience) {
  constexpr std::chrono::milliseconds kBetweenTries{20};
  require_run_name(name);
  make_folders(outdir);
  const fs::path lock = outdir / fmt::format(".lock-{}", ::geteuid());
  FileDescriptor folder(
      ::open(lock.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  const bool is_locked = poll_until(patience, kBetweenTries, [&] {  // flock(2) has no deadline
    const bool is_ours = folder && ::flock(folder.get(), LOCK_EX | LOCK_NB) == 0;
    if (!is_ours && (!folder || (errno != EWOULDBLOCK && errno != EINTR))) {
      fail_to_make(outdir, std::error_code(errno, std::generic_category()));
    }
    return is_ours;
  });
  if (!is_locked) {
    throw EnvironmentError(fmt::format(
        "{}: another start has held this folder for {:.0f} s: look for a 'gangway run' that hangs "
        "there (fuser {}), or choose another --outdir",
        outdir.string(), std::chrono::duration<double>(patience).count(), lock.string()));
  }
  return folder;
}

fs::path create_numbered(const fs::path& outdir, const std::string& name) {
  std::int64_t number = 0;
  for (const ExistingRun& run : existing_runs(outdir)) {
    number = std::max(number, run.parts.number + 1);
  }
  for (;; ++number) {
    const fs::path path = fs::absolute(outdir) / fmt::format("{:05}-{}", number, name);
    std::error_code error;
    if (fs::create_directory(path.lexically_normal(), error)) {
      sync_directory(outdir);
      return path.lexically_normal();
    }
    if (error) {
      fail_to_make(path, error);
    }  // else another user took this number first
  }
}

/// Returns the owner; nothing if the path is gone.
std::optional<uid_t> owner_of(const fs::path& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? std::optional(status.st_uid) : std::nullopt;
}

bool is_own(const ExistingRun& run) { return owner_of(run.path) == ::geteuid(); }

}  // namespace

std::optional<std::filesystem::path> find_run(const std::filesystem::path& outdir,
                                              const std::string& name) {
  std::optional<ExistingRun> newest;
  for (ExistingRun& run : existing_runs(outdir)) {
    const bool is_named = run.parts.name == name || run.path.filename() == name;
    if (is_named && (!newest || std::pair(is_own(run), run.parts.number) >
                                    std::pair(is_own(*newest), newest->parts.number))) {
      newest = std::move(run);
    }
  }
  return newest ? std::optional(fs::absolute(newest->path).lexically_normal()) : std::nullopt;
}

std::filesystem::path create_run(const std::filesystem::path& outdir, const std::string& name,
                                 std::chrono::milliseconds patience) {
  const FileDescriptor held = lock_folder(outdir, name, patience);
  return create_numbered(outdir, name);
}

std::filesystem::path open_run(const std::filesystem::path& outdir, const std::string& name,
                               std::chrono::milliseconds patience) {
  const FileDescriptor held = lock_folder(outdir, name, patience);
  // Refuses a stranger's run in a shared folder: this run would start from the stranger's weights.
  // Accepts the owner of `outdir`, because some file systems report one owner for all files.
  const auto existing = find_run(outdir, name);
  const auto owner = existing ? owner_of(*existing) : std::nullopt;
  if (owner && (owner == ::geteuid() || owner == 0U || owner == owner_of(outdir))) {
    return *existing;
  }
  return create_numbered(outdir, name);
}

}  // namespace gangway
