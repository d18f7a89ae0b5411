// SPDX-License-Identifier: MIT
#include "checkpoint/files/durable_file.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/errors.hpp"
#include "base/hash.hpp"
#include "checkpoint/files/aligned_buffer.hpp"

namespace gangway::checkpoint {

namespace {

constexpr std::size_t kReadChunkBytes = std::size_t{1} << 20U;

/// Repeats a system call while a signal interrupts it.
template <typename Call>
auto uninterrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) {
    result = call();
  }
  return result;
}

enum class Direct { kOff, kOn };

/// Returns false if the file system does not support direct I/O.
bool set_direct(int fd, Direct direct) {
  const int flags = ::fcntl(fd, F_GETFL);
  return flags >= 0 &&
         ::fcntl(fd, F_SETFL, direct == Direct::kOn ? flags | O_DIRECT : flags & ~O_DIRECT) == 0;
}

bool is_direct(const OpenFile& file) {
  const int flags = ::fcntl(file.fd.get(), F_GETFL);
  return flags >= 0 && (flags & O_DIRECT) != 0;
}

}  // namespace

std::string cause_of(int error_number) { return std::generic_category().message(error_number); }

std::string saving_remedy(int error_number) {
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
      return "; free some space or keep fewer checkpoints (checkpoint.keep)";
    case EACCES:
    case EROFS:
    case EPERM:
      return "; choose a writable run directory (--outdir)";
    default:
      return "";
  }
}

NewFile::NewFile(const FileSystem& files, std::filesystem::path path, std::uint64_t bytes,
                 Caching caching, Readers readers)
    : files_(files), path_(std::move(path)) {
  const mode_t mode = readers == Readers::kOwner ? 0600 : 0644;
  do {
    fd_ = files_.create(path_, mode);
  } while (!fd_ && errno == EINTR);
  if (!fd_) {
    finished_ = true;  // the existing file is not ours: do not remove it
    fail("cannot create", errno);
  }
  try {
    reserve(bytes);
  } catch (...) {
    files_.remove(path_);
    throw;
  }
  is_direct_ = caching == Caching::kDirect && set_direct(fd_.get(), Direct::kOn);
}

NewFile::~NewFile() {
  if (!finished_) {
    files_.remove(path_);
  }
}

void NewFile::fail(const std::string& what, int error_number) const {
  throw EnvironmentError(fmt::format("{}: {}: {}{}", path_.string(), what, cause_of(error_number),
                                     saving_remedy(error_number)));
}

void NewFile::reserve(std::uint64_t bytes) const {
  if (bytes == 0) {
    return;
  }
  struct statvfs space {};
  // Some network file systems report no blocks: then free space is unknown.
  if (::fstatvfs(fd_.get(), &space) == 0 && space.f_blocks > 0) {
    const std::uint64_t free_bytes = static_cast<std::uint64_t>(space.f_bavail) * space.f_frsize;
    if (free_bytes < bytes) {
      fail(fmt::format("cannot write {} bytes, {} are free", bytes, free_bytes), ENOSPC);
    }
  }
  int error_number = EINTR;
  while (error_number == EINTR) {
    error_number = files_.reserve(fd_, bytes);
  }
  if (error_number != 0 && error_number != EINVAL && error_number != EOPNOTSUPP) {
    fail(fmt::format("cannot reserve {} bytes", bytes), error_number);
  }
}

void NewFile::leave_direct() {
  if (!set_direct(fd_.get(), Direct::kOff)) {
    fail("cannot leave direct I/O", errno);
  }
  is_direct_ = false;
}

std::span<const std::byte> NewFile::writable_part(std::span<const std::byte> bytes) {
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(bytes.data()) % kDirectAlignment == 0 &&
                          bytes.size() >= kDirectAlignment;
  if (is_direct_ && !is_aligned) {
    leave_direct();  // the end of the file, or after a short write
  }
  return is_direct_ ? bytes.first(bytes.size() / kDirectAlignment * kDirectAlignment) : bytes;
}

void NewFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::span<const std::byte> part = writable_part(bytes);
    const ssize_t written = uninterrupted([&] { return files_.write(fd_, part); });
    if (written < 0 && errno == EINVAL && is_direct_) {
      leave_direct();  // some file systems accept the flag but reject the write
      continue;
    }
    if (written <= 0) {
      fail("cannot write", written == 0 ? EIO : errno);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void NewFile::sync() {
  if (uninterrupted([&] { return files_.sync(fd_); }) != 0) {
    fail("cannot sync to disk", errno);
  }
}

void NewFile::finish(Durability durability) {
  if (durability == Durability::kNow) {
    sync();
  }
  // Linux frees the descriptor even if close reports an error, including EINTR.
  if (files_.close(std::move(fd_)) != 0 && errno != EINTR) {
    fail("cannot close", errno);
  }
  finished_ = true;
}

void write_new_file(const FileSystem& files, const std::filesystem::path& path,
                    std::string_view text, Durability durability) {
  NewFile file(files, path, text.size());
  file.write(std::as_bytes(std::span(text.data(), text.size())));
  file.finish(durability);
}

void sync_directory(const FileSystem& files, const std::filesystem::path& directory) {
  if (uninterrupted([&] { return files.sync_folder(directory); }) != 0) {
    throw EnvironmentError(
        fmt::format("{}: cannot sync the folder to disk: {}", directory.string(), cause_of(errno)));
  }
}

OpenFile open_regular_file(const std::filesystem::path& path) {
  OpenFile file;
  // O_NONBLOCK: if a pipe has replaced the file, open must not wait for a writer.
  file.fd = FileDescriptor(uninterrupted(
      [&] { return ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK); }));
  if (file.fd.get() < 0) {
    const std::string cause =
        errno == ELOOP ? "is a symbolic link, which is refused" : cause_of(errno);
    throw CheckpointError(fmt::format("{}: cannot be read: {}", path.string(), cause));
  }
  struct stat status {};
  if (::fstat(file.fd.get(), &status) != 0) {
    throw CheckpointError(fmt::format("{}: cannot be read: {}", path.string(), cause_of(errno)));
  }
  if (!S_ISREG(status.st_mode)) {
    throw CheckpointError(fmt::format("{}: is not a regular file", path.string()));
  }
  file.bytes = static_cast<std::uint64_t>(status.st_size);
  return file;
}

void prefer_direct(const OpenFile& file) { (void)set_direct(file.fd.get(), Direct::kOn); }

void read_exactly(const OpenFile& file, std::uint64_t offset, std::span<std::byte> out,
                  const std::filesystem::path& path, const FileSystem& files) {
  while (!out.empty()) {
    const ssize_t got = uninterrupted([&] { return files.read(file.fd, offset, out); });
    // Retry through the cache, because direct reads must be aligned, even after a short read.
    if (got < 0 && errno == EINVAL && is_direct(file) && set_direct(file.fd.get(), Direct::kOff)) {
      continue;
    }
    if (got < 0) {
      throw CheckpointError(
          fmt::format("{}: cannot be read at byte {}: {}", path.string(), offset, cause_of(errno)));
    }
    if (got == 0) {
      throw CheckpointError(fmt::format("{}: ends at byte {}: truncated", path.string(), offset));
    }
    out = out.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
}

std::string read_stored_file(const std::filesystem::path& path, std::size_t max_bytes) {
  const OpenFile file = open_regular_file(path);
  if (file.bytes > max_bytes) {
    throw CheckpointError(fmt::format("{}: has {} bytes, more than the {} allowed", path.string(),
                                      file.bytes, max_bytes));
  }
  std::string text(static_cast<std::size_t>(file.bytes), '\0');
  read_exactly(file, 0, std::as_writable_bytes(std::span(text.data(), text.size())), path);
  return text;
}

std::string hash_file(const std::filesystem::path& path) {
  const OpenFile file = open_regular_file(path);
  Hasher hasher;
  std::vector<std::byte> chunk(kReadChunkBytes);
  for (std::uint64_t offset = 0; offset < file.bytes;) {
    const std::span<std::byte> piece(chunk.data(), static_cast<std::size_t>(std::min<std::uint64_t>(
                                                       chunk.size(), file.bytes - offset)));
    read_exactly(file, offset, piece, path);
    hasher.update(std::span<const std::byte>(piece));
    offset += piece.size();
  }
  return hasher.hex();
}

}  // namespace gangway::checkpoint
