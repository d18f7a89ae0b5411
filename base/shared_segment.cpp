// SPDX-License-Identifier: MIT
#include "base/shared_segment.hpp"

#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/errors.hpp"
#include "base/file_claim.hpp"
#include "base/units.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;

constexpr int kAttempts = 10;  // to take over a dead process's name

[[noreturn]] void fail(const fs::path& path, const char* what, int error) {
  throw EnvironmentError(fmt::format(
      "{}: shared memory cannot be {}: {}; mount a tmpfs on {}, or set "
      "layout.transport=mpi",
      path.string(), what, std::generic_category().message(error), path.parent_path().string()));
}

[[noreturn]] void fail_too_small(const fs::path& path, std::size_t bytes) {
  struct statvfs status {};
  double free = 0.0;
  if (::statvfs(path.parent_path().c_str(), &status) == 0) {
    free = static_cast<double>(status.f_bavail) * static_cast<double>(status.f_frsize);
  }
  throw EnvironmentError(fmt::format(
      "{}: {:.1f} MiB of shared memory needed, {:.1f} MiB free in {}: make it larger (docker run "
      "--shm-size, or mount -o remount,size=), or set layout.transport=mpi",
      path.string(), static_cast<double>(bytes) / kMebibyte, free / kMebibyte,
      path.parent_path().string()));
}

/// Makes a file without a name: locked, with its full size and all its pages allocated, so that a
/// write to it cannot raise SIGBUS.
FileDescriptor make_file(const fs::path& path, std::size_t bytes) {
  FileDescriptor file(
      ::open(path.parent_path().c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file) {
    fail(path, "made", errno);
  }
  if (!claim(file)) {
    fail(path, "locked", errno);
  }
  int error = EINTR;
  while (error == EINTR) {  // a signal interrupted the call
    error = ::posix_fallocate(file.get(), 0, static_cast<off_t>(bytes));
  }
  if (error == ENOSPC || error == EFBIG) {
    fail_too_small(path, bytes);
  }
  if (error != 0) {
    fail(path, "allocated", error);
  }
  return file;
}

/// Removes the file of that name if its creator is dead. @return whether it removed one
bool remove_if_left(const fs::path& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  // Check under the lock: a file without links was removed meanwhile; the name may be reused.
  return file && claim_to_remove(file) && ::fstat(file.get(), &status) == 0 &&
         S_ISREG(status.st_mode) && status.st_nlink > 0 && ::unlink(path.c_str()) == 0;
}

MappedMemory map_file(int file, std::size_t bytes, int protection, const fs::path& path) {
  void* data = ::mmap(nullptr, bytes, protection, MAP_SHARED, file, 0);
  if (data == MAP_FAILED) {
    fail(path, "mapped", errno);
  }
  return MappedMemory({data, bytes});
}

}  // namespace

MappedMemory map_private(std::size_t bytes) {
  void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) {
    throw EnvironmentError("out of address space; use fewer workers on this host");
  }
  return MappedMemory({data, bytes});
}

SharedSegment::SharedSegment(fs::path path, std::size_t bytes)
    : path_(std::move(path)), bytes_(bytes), file_(make_file(path_, bytes)) {
  const std::string open_file = fmt::format("/proc/self/fd/{}", file_.get());
  const auto give_name = [&] {
    return ::linkat(AT_FDCWD, open_file.c_str(), AT_FDCWD, path_.c_str(), AT_SYMLINK_FOLLOW) == 0;
  };
  bool named = give_name();
  // Try several times: a concurrent cleaner may hold the right to remove a dead process's file.
  for (int attempt = 0; !named && errno == EEXIST && attempt < kAttempts; ++attempt) {
    (void)remove_if_left(path_);
    named = give_name();
  }
  if (named) {
    return;
  }
  const int error = errno;
  file_.reset();  // the name belongs to another process: leave it
  if (error == EEXIST) {
    throw EnvironmentError(
        fmt::format("{}: in use by a living process: two runs share one name; start this one again",
                    path_.string()));
  }
  fail(path_, "named", error);
}

MappedMemory SharedSegment::map() const {
  return map_file(file_.get(), bytes_, PROT_READ | PROT_WRITE, path_);
}

void SharedSegment::remove_name() noexcept {
  if (file_) {
    (void)::unlink(path_.c_str());
    file_.reset();
  }
}

MappedMemory map_segment(const fs::path& path, SegmentAccess access) {
  const bool writes = access == SegmentAccess::kReadWrite;
  const FileDescriptor file(
      ::open(path.c_str(), (writes ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW));
  if (!file) {
    if (errno == ENOENT) {
      return {};
    }
    fail(path, "opened", errno);
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) {
    fail(path, "examined", errno);
  }
  if (!is_claimed(file)) {
    return {};
  }
  if (status.st_uid != ::geteuid()) {
    throw EnvironmentError(fmt::format("{}: belongs to another user (uid {}); start the run again",
                                       path.string(), status.st_uid));
  }
  return map_file(file.get(), static_cast<std::size_t>(status.st_size),
                  PROT_READ | (writes ? PROT_WRITE : 0), path);
}

bool is_segment_in_use(const fs::path& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  return file && is_claimed(file);
}

std::size_t reap_segments(const fs::path& folder) {
  std::size_t reaped = 0;
  std::error_code failure;
  for (auto entry = fs::directory_iterator(folder, failure);
       !failure && entry != fs::directory_iterator(); entry.increment(failure)) {
    if (entry->path().filename().string().starts_with(kSegmentPrefix) &&
        remove_if_left(entry->path())) {
      ++reaped;
    }
  }
  return reaped;
}

}  // namespace gangway
