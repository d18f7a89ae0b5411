// SPDX-License-Identifier: MIT
#include "checkpoint/files/file_system.hpp"

#include <cstdio>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gangway::checkpoint {

namespace fs = std::filesystem;

FileDescriptor PosixFileSystem::create(const fs::path& path, mode_t mode) const {
  return FileDescriptor(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
}

int PosixFileSystem::reserve(const FileDescriptor& file, std::uint64_t bytes) const {
  return ::posix_fallocate(file.get(), 0, static_cast<off_t>(bytes));
}

ssize_t PosixFileSystem::write(const FileDescriptor& file, std::span<const std::byte> bytes) const {
  return ::write(file.get(), bytes.data(), bytes.size());
}

int PosixFileSystem::sync(const FileDescriptor& file) const { return ::fsync(file.get()); }

int PosixFileSystem::close(FileDescriptor file) const { return ::close(file.release()); }

ssize_t PosixFileSystem::read(const FileDescriptor& file, std::uint64_t offset,
                              std::span<std::byte> out) const {
  return ::pread(file.get(), out.data(), out.size(), static_cast<off_t>(offset));
}

int PosixFileSystem::rename(const fs::path& from, const fs::path& to) const {
  return ::rename(from.c_str(), to.c_str());
}

int PosixFileSystem::rename_to_new(const fs::path& from, const fs::path& to) const {
  return ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE);
}

int PosixFileSystem::remove(const fs::path& file) const { return ::unlink(file.c_str()); }

int PosixFileSystem::make_folder(const fs::path& folder) const {
  return ::mkdir(folder.c_str(), 0755);
}

int PosixFileSystem::remove_folder(const fs::path& folder) const { return ::rmdir(folder.c_str()); }

int PosixFileSystem::sync_folder(const fs::path& folder) const {
  const FileDescriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return opened ? ::fsync(opened.get()) : -1;
}

}  // namespace gangway::checkpoint
