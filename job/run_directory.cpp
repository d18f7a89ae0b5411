// SPDX-License-Identifier: MIT
// Choosing and making the folder of a run. The files in it: job/run_files.cpp; the lock:
// job/run_lock.cpp.
#include "job/run_directory.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include "job/atomic_file.hpp"
#include "job/utf8.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestName = 64;
constexpr std::size_t kNumberDigits = 5;  // at least: the 100,000th run has six

bool is_name_character(char character) {
  return (character >= 'A' && character <= 'Z') || (character >= 'a' && character <= 'z') ||
         (character >= '0' && character <= '9') || character == '.' || character == '_' ||
         character == '-';
}

bool is_run_name(const std::string& name) {
  return !name.empty() && name.size() <= kLongestName && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), is_name_character);
}

/// The parts of `00003-NAME`.
struct NumberedName {
  std::int64_t number = 0;
  std::string name;
};

std::optional<NumberedName> split_directory_name(const std::string& directory) {
  const std::size_t dash = directory.find('-');
  if (dash == std::string::npos || dash < kNumberDigits) {
    return std::nullopt;
  }
  NumberedName parts{.number = 0, .name = directory.substr(dash + 1)};
  const auto [end, error] =
      std::from_chars(directory.data(), directory.data() + dash, parts.number);
  const bool is_number =
      error == std::errc{} && end == directory.data() + dash && parts.number >= 0;
  return is_number ? std::optional(parts) : std::nullopt;
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

/// One chooser at a time, so that two jobs of one name started together share a folder (and the
/// second meets the lock).
FileDescriptor lock_folder(const fs::path& outdir, std::chrono::milliseconds patience) {
  constexpr std::chrono::milliseconds kBetweenTries{20};
  const auto end = std::chrono::steady_clock::now() + patience;
  FileDescriptor folder(::open(outdir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  while (!folder || ::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) {
    if (!folder || (errno != EWOULDBLOCK && errno != EINTR)) {
      fail_to_make(outdir, std::error_code(errno, std::generic_category()));
    }
    if (std::chrono::steady_clock::now() >= end) {
      throw EnvironmentError(fmt::format(
          "{}: another start has held this folder for {:.0f} s: look for a 'gangway run' that "
          "hangs "
          "there (fuser {}), or choose another --outdir",
          outdir.string(), std::chrono::duration<double>(patience).count(), outdir.string()));
    }
    std::this_thread::sleep_for(kBetweenTries);  // flock(2) knows no deadline
  }
  return folder;
}

fs::path create_numbered(const fs::path& outdir, const std::string& name) {
  std::int64_t number = 0;
  for (const ExistingRun& run : existing_runs(outdir)) {
    number = std::max(number, run.parts.number + 1);
  }
  const fs::path path = fs::absolute(outdir) / fmt::format("{:05}-{}", number, name);
  make_folders(path.lexically_normal());
  sync_directory(outdir);
  return path.lexically_normal();
}

}  // namespace

std::string run_name_of(const std::filesystem::path& job_file) {
  std::string name = job_file.stem().string().substr(0, kLongestName);
  std::replace_if(
      name.begin(), name.end(), [](char character) { return !is_name_character(character); }, '-');
  name.erase(0, std::min(name.find_first_not_of('.'), name.size()));
  return is_run_name(name) ? name : "job";
}

void require_run_name(const std::string& name) {
  if (!is_run_name(name)) {
    throw ConfigError(fmt::format(
        "run name '{}': expected 1 to {} of A-Z a-z 0-9 . _ - without a dot in front; give "
        "another --run",
        shown(name), kLongestName));
  }
}

std::optional<std::filesystem::path> find_run(const std::filesystem::path& outdir,
                                              const std::string& name) {
  std::optional<ExistingRun> newest;
  for (ExistingRun& run : existing_runs(outdir)) {
    const bool is_named = run.parts.name == name || run.path.filename() == name;
    if (is_named && (!newest || run.parts.number > newest->parts.number)) {
      newest = std::move(run);
    }
  }
  return newest ? std::optional(fs::absolute(newest->path).lexically_normal()) : std::nullopt;
}

std::filesystem::path create_run(const std::filesystem::path& outdir, const std::string& name,
                                 std::chrono::milliseconds patience) {
  require_run_name(name);
  make_folders(outdir);
  const FileDescriptor held = lock_folder(outdir, patience);
  return create_numbered(outdir, name);
}

std::filesystem::path open_run(const std::filesystem::path& outdir, const std::string& name,
                               std::chrono::milliseconds patience) {
  require_run_name(name);
  make_folders(outdir);
  const FileDescriptor held = lock_folder(outdir, patience);
  if (auto existing = find_run(outdir, name)) {
    return *existing;
  }
  return create_numbered(outdir, name);
}

}  // namespace gangway
