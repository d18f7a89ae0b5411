// SPDX-License-Identifier: MIT
#include "checkpoint/snapshots/snapshot_slot_file.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/errors.hpp"
#include "base/file_claim.hpp"
#include "base/system/poll_until.hpp"
#include "base/units.hpp"
#include "checkpoint/files/durable_file.hpp"

namespace gangway::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kWorkerProgram = "gangway-worker";
constexpr std::chrono::milliseconds kLookPatience{200};  // for another start to examine the file
constexpr std::chrono::seconds kFencePatience{2};        // for a killed process to end
constexpr int kAttempts = 10;                            // against concurrent cleaners

[[noreturn]] void fail(const fs::path& path, const char* what, int error) {
  throw EnvironmentError(
      fmt::format("{}: snapshot file cannot be {}: {}; or turn snapshots off "
                  "with checkpoint.snapshot_steps=0",
                  path.string(), what, cause_of(error)));
}

double free_bytes(const fs::path& folder) {
  struct statvfs status {};
  return ::statvfs(folder.c_str(), &status) == 0
             ? static_cast<double>(status.f_bavail) * static_cast<double>(status.f_frsize)
             : 0.0;
}

/// Whether the file still has its name, is regular and belongs to this user.
bool is_ours(const FileDescriptor& file) {
  struct stat status {};
  return ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink > 0 &&
         status.st_uid == ::geteuid();
}

std::size_t size_of(const FileDescriptor& file) {
  struct stat status {};
  return ::fstat(file.get(), &status) == 0 ? static_cast<std::size_t>(status.st_size) : 0;
}

FileDescriptor open_existing(const fs::path& path, int mode) {
  return FileDescriptor(::open(path.c_str(), mode | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
}

/// Retries, because another start on this host that reaps slots claims each file briefly.
bool claim_with_patience(const FileDescriptor& file, std::chrono::milliseconds patience) {
  return poll_until(patience, std::chrono::milliseconds(10), [&] { return claim(file); });
}

/// Returns the other worker processes of this user that have the file open.
std::vector<pid_t> workers_that_hold(const FileDescriptor& file) {
  struct stat own {};
  std::vector<pid_t> found;
  std::error_code failure;
  if (::fstat(file.get(), &own) != 0) {
    return found;
  }
  for (auto process = fs::directory_iterator("/proc", failure);
       !failure && process != fs::directory_iterator(); process.increment(failure)) {
    const auto pid = static_cast<pid_t>(std::atol(process->path().filename().c_str()));
    std::string program;
    std::ifstream(process->path() / "comm") >> program;
    if (pid <= 0 || pid == ::getpid() || !program.starts_with(kWorkerProgram)) {
      continue;
    }
    std::error_code denied;  // another user's process
    for (auto entry = fs::directory_iterator(process->path() / "fd", denied);
         !denied && entry != fs::directory_iterator(); entry.increment(denied)) {
      struct stat other {};
      if (::stat(entry->path().c_str(), &other) == 0 && other.st_dev == own.st_dev &&
          other.st_ino == own.st_ino) {
        found.push_back(pid);
        break;
      }
    }
  }
  return found;
}

/// Kills the workers that hold the slot. The caller has the run's lock, so they belong to an
/// earlier start (stopped or cut off) and must not write to the slot again.
bool claim_by_force(const FileDescriptor& file) {
  const std::vector<pid_t> holders = workers_that_hold(file);
  for (const pid_t pid : holders) {
    (void)::kill(pid, SIGKILL);
  }
  return claim_with_patience(file, holders.empty() ? std::chrono::seconds(0) : kFencePatience);
}

}  // namespace

SlotFile::SlotFile(fs::path slot, const SlotHeader& header, std::span<const std::byte> table)
    : slot_(std::move(slot)) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const bool is_taken = std::ranges::any_of(
        files_of_slot(), [&](const fs::path& path) { return take_over(path, header, table); });
    path_ = is_taken ? path_ : slot_.parent_path() / tagged_name(slot_.filename().string());
    if (is_taken || make(header, table)) {
      return;
    }
  }
  throw EnvironmentError(
      fmt::format("{}: other processes make and remove it repeatedly; is the run started twice?",
                  slot_.string()));
}

/// Returns the slot's files of all users.
std::vector<fs::path> SlotFile::files_of_slot() const {
  const std::string start = slot_.filename().string();
  std::vector<fs::path> files;
  std::error_code failure;
  for (auto entry = fs::directory_iterator(slot_.parent_path(), failure);
       !failure && entry != fs::directory_iterator(); entry.increment(failure)) {
    const std::string name = entry->path().filename().string();
    if (name == start || name.starts_with(start + "-t")) {
      files.push_back(entry->path());
    }
  }
  return files;
}

/// Returns false if the file is another user's, or was useless and is now removed.
bool SlotFile::take_over(const fs::path& path, const SlotHeader& header,
                         std::span<const std::byte> table) {
  path_ = path;
  file_ = open_existing(path_, O_RDWR);
  if (!file_ || !is_ours(file_)) {
    file_.reset();
    return false;
  }
  if (!claim_with_patience(file_, kLookPatience) && !claim_by_force(file_)) {
    throw EnvironmentError(fmt::format(
        "{}: in use by a living process: end the run that was started before", path_.string()));
  }
  if (!is_ours(file_)) {  // removed between open and claim
    file_.reset();
    return false;
  }
  const auto bytes = static_cast<std::size_t>(header.file_bytes);
  if (size_of(file_) == bytes) {
    reserve(bytes);
    map(bytes);
    const auto* const old = reinterpret_cast<const SlotHeader*>(this->bytes().data());
    if (old->fixed_hash == header.fixed_hash &&
        std::equal(table.begin(), table.end(), this->bytes().data() + kSlotPage)) {
      try {
        const std::string where = path_.string();
        found_ = id_of(parse_slot(this->bytes(), where), this->bytes(), where);
        return true;
      } catch (const CheckpointError&) {
        // Damaged: replaced below. The reader has reported it to the start that needed it.
        found_.reset();
      }
    }
    memory_.reset();
  }
  (void)::unlink(path_.c_str());
  file_.reset();
  return false;
}

/// Returns false if another process was faster.
bool SlotFile::make(const SlotHeader& header, std::span<const std::byte> table) {
  file_ = FileDescriptor(
      ::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR));
  if (!file_) {
    if (errno == EEXIST) {
      return false;
    }
    fail(path_, "made", errno);
  }
  // A cleaner may have claimed the file first.
  if (!claim(file_) || !is_ours(file_)) {
    file_.reset();
    return false;
  }
  const auto bytes = static_cast<std::size_t>(header.file_bytes);
  try {
    reserve(bytes);
    map(bytes);
  } catch (...) {
    remove_name();
    throw;
  }
  std::copy(table.begin(), table.end(), this->bytes().data() + kSlotPage);
  // The magic is written last: a file without it is unfinished.
  SlotHeader unfinished = header;
  unfinished.magic = {};
  std::memcpy(this->bytes().data(), &unfinished, sizeof unfinished);
  std::uint64_t magic = 0;
  std::memcpy(&magic, header.magic.data(), sizeof magic);
  std::atomic_ref(*reinterpret_cast<std::uint64_t*>(this->bytes().data()))
      .store(magic, std::memory_order_release);
  return true;
}

/// Reserves all memory, so that a write cannot raise SIGBUS.
void SlotFile::reserve(std::size_t bytes) {
  // Check first: a too large allocation would take page after page until the host is out of memory.
  const bool is_new = size_of(file_) == 0;
  int error =
      is_new && static_cast<double>(bytes) > free_bytes(path_.parent_path()) ? ENOSPC : EINTR;
  while (error == EINTR) {  // a handled signal
    error = ::posix_fallocate(file_.get(), 0, static_cast<off_t>(bytes));
  }
  if (error == ENOSPC || error == EFBIG || error == EDQUOT) {
    throw EnvironmentError(fmt::format(
        "{}: {:.1f} MiB needed for a snapshot, {:.1f} MiB free in {}: make it larger (docker run "
        "--shm-size, or mount -o remount,size=), or turn snapshots off with "
        "checkpoint.snapshot_steps=0",
        path_.string(), static_cast<double>(bytes) / kMebibyte,
        free_bytes(path_.parent_path()) / kMebibyte, path_.parent_path().string()));
  }
  if (error != 0) {
    fail(path_, "allocated", error);
  }
}

void SlotFile::map(std::size_t bytes) {
  // Touch now, so that the first snapshot is as fast as later ones.
  void* data =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file_.get(), 0);
  if (data == MAP_FAILED) {
    fail(path_, "mapped", errno);
  }
  memory_ = MappedMemory({data, bytes});
}

std::span<std::byte> SlotFile::bytes() const {
  return {static_cast<std::byte*>(memory_.get().data), memory_.get().bytes};
}

void SlotFile::remove_name() noexcept {
  if (file_) {
    (void)::unlink(path_.c_str());
    file_.reset();
  }
}

MappedMemory map_slot_file(const fs::path& path) {
  const FileDescriptor file = open_existing(path, O_RDONLY);
  if (!file) {
    throw CheckpointError(fmt::format("{}: cannot be opened: {}", path.string(), cause_of(errno)));
  }
  if (!is_ours(file)) {
    throw CheckpointError(
        fmt::format("{}: not a regular file of this user: not read", path.string()));
  }
  const std::size_t bytes = size_of(file);
  if (bytes == 0) {
    return {};
  }
  void* data = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file.get(), 0);
  if (data == MAP_FAILED) {
    throw CheckpointError(fmt::format("{}: cannot be mapped: {}", path.string(), cause_of(errno)));
  }
  return MappedMemory({data, bytes});
}

SlotOwner owner_of_slot(const fs::path& path) {
  const FileDescriptor file = open_existing(path, O_RDONLY);
  if (!file || !is_ours(file)) {
    return SlotOwner::kGone;
  }
  return is_claimed(file) ? SlotOwner::kLiving : SlotOwner::kDead;
}

std::vector<fs::path> slot_files(std::span<const fs::path> folders, const std::string& key) {
  std::vector<fs::path> files;
  for (const fs::path& folder : folders) {
    std::error_code failure;
    for (auto entry = fs::directory_iterator(folder, failure);
         !failure && entry != fs::directory_iterator(); entry.increment(failure)) {
      const auto found = key_in_slot_name(entry->path().filename().string());
      if (found && (key.empty() || *found == key)) {
        files.push_back(entry->path());
      }
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

bool remove_slot_file(const fs::path& path) noexcept {
  const FileDescriptor file = open_existing(path, O_RDWR);
  return file && claim_to_remove(file) && is_ours(file) && ::unlink(path.c_str()) == 0;
}

std::size_t bytes_of_slots(const fs::path& folder, const std::string& key, int num_workers) {
  const std::string of = fmt::format("-of-{:04d}-", num_workers);
  std::size_t bytes = 0;
  for (const fs::path& file : slot_files(std::span(&folder, 1), key)) {
    std::error_code gone;
    const std::string name = file.filename().string();
    const bool is_kin = name.find(of) != std::string::npos && !step_in_kept_name(name);
    const std::uintmax_t size = is_kin ? fs::file_size(file, gone) : 0;
    bytes += gone ? 0 : static_cast<std::size_t>(size);
  }
  return bytes;
}

SnapshotFolder choose_snapshot_folder(std::size_t bytes_on_host, const fs::path& shared_memory,
                                      const fs::path& fallback, std::size_t held) {
  const auto needed = static_cast<double>(bytes_on_host);
  const double shared = free_bytes(shared_memory) + static_cast<double>(held);
  if (needed <= shared * (7.0 / 8.0)) {
    return {.path = shared_memory, .reason = {}};
  }
  std::error_code error;
  fs::create_directories(fallback, error);
  const double on_disk = error ? 0.0 : free_bytes(fallback);
  const std::string sizes =
      fmt::format("snapshots need {:.1f} MiB on this host, {:.1f} MiB are free in {}",
                  needed / kMebibyte, shared / kMebibyte, shared_memory.string());
  if (needed > on_disk) {
    throw EnvironmentError(
        fmt::format("{} and {:.1f} MiB in {}: free some, or turn snapshots off with "
                    "checkpoint.snapshot_steps=0",
                    sizes, on_disk / kMebibyte, fallback.string()));
  }
  return {.path = fallback, .reason = fmt::format("{}: they lie in {}", sizes, fallback.string())};
}

}  // namespace gangway::checkpoint
