// SPDX-License-Identifier: MIT
#include "base/atomic_file.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "base/errors.hpp"

namespace gangway {
namespace {

constexpr std::size_t kLeastRead = 4096;

const char* remedy_for(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "free some space or choose another --outdir";
    case EACCES:
    case EPERM:
    case EROFS:
      return "choose a place that you may write to, for a run by --outdir";
    case ELOOP:
      return "a link lies in its place; remove it";
    case ENOENT:
    case ENOTDIR:
      return "make its folder, or choose another place";
    default:
      return "look at the disk, or choose another place";
  }
}

[[noreturn]] void fail(const char* what, const std::filesystem::path& path) {
  const int error = errno;
  throw EnvironmentError(fmt::format("{}: cannot {}: {}; {}", path.string(), what,
                                     std::generic_category().message(error), remedy_for(error)));
}

}  // namespace

void require_replaceable(const std::filesystem::path& path) {
  struct stat status {};
  const bool is_there = ::stat(path.c_str(), &status) == 0;
  if ((is_there && !S_ISREG(status.st_mode)) || path.parent_path() == "/dev") {
    throw EnvironmentError(
        fmt::format("{}: is no regular file; name a file to be written", path.string()));
  }
}

AtomicFile::AtomicFile(std::filesystem::path path)
    : path_(std::move(path)), temporary_(path_.string() + ".tmp") {
  require_replaceable(path_);
  // O_NOFOLLOW: writing through a link would overwrite the file that it points to.
  file_.reset(
      ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!file_) {
    fail("be written", errno == ELOOP ? temporary_ : path_);
  }
}

AtomicFile::~AtomicFile() {
  if (!committed_) {
    (void)::unlink(temporary_.c_str());
  }
}

void AtomicFile::write(std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(file_.get(), content.data(), content.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written < 0) {
      fail("be written", path_);
    }
    content.remove_prefix(static_cast<std::size_t>(written));
  }
}

void AtomicFile::commit() {
  if (::fsync(file_.get()) != 0) {
    fail("be synced", path_);
  }
  put_in_place();
  sync_directory(path_.has_parent_path() ? path_.parent_path() : std::filesystem::path("."));
}

void AtomicFile::put_in_place() {
  file_.reset();
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    fail("be put in place", path_);
  }
  committed_ = true;
}

void write_file_atomically(const std::filesystem::path& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content);
  file.commit();
}

void append_line(const std::filesystem::path& path, std::string_view line) {
  const FileDescriptor file{::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0644)};
  if (!file) {
    fail("be opened", path);
  }
  std::string text(line);
  text += '\n';
  const off_t end = ::lseek(file.get(), 0, SEEK_END);
  if (char last = '\n'; end > 0 && ::pread(file.get(), &last, 1, end - 1) == 1 && last != '\n') {
    text.insert(text.begin(), '\n');
  }
  ssize_t size = 0;
  do {
    size = ::write(file.get(), text.data(), text.size());
  } while (size < 0 && errno == EINTR);
  if (size != static_cast<ssize_t>(text.size()) || ::fdatasync(file.get()) != 0) {
    fail("be written", path);
  }
}

std::optional<std::string> read_small_file(const std::filesystem::path& path,
                                           std::size_t limit_bytes) {
  // O_NONBLOCK: if `path` is a pipe, open() would wait for a writer.
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!file && errno == ENOENT) {
    return std::nullopt;
  }
  if (!file) {
    fail("be read", path);
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    throw EnvironmentError(fmt::format("{}: cannot be read: it is no regular file", path.string()));
  }
  const auto told = static_cast<std::size_t>(status.st_size);  // 0 for files in /proc
  std::string content(std::min(std::max(told, kLeastRead), limit_bytes) + 1, '\0');
  std::size_t size = 0;
  while (size <= limit_bytes) {
    if (size == content.size()) {  // the file has grown
      content.resize(std::min(2 * size, limit_bytes + 1));
    }
    const ssize_t got = ::read(file.get(), content.data() + size, content.size() - size);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      fail("be read", path);
    }
    if (got == 0) {
      break;
    }
    size += static_cast<std::size_t>(got);
  }
  if (size > limit_bytes) {
    throw EnvironmentError(fmt::format("{}: larger than {} bytes; it is not a file of this program",
                                       path.string(), limit_bytes));
  }
  content.resize(size);
  return content;
}

void sync_directory(const std::filesystem::path& directory) {
  const FileDescriptor folder(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder || ::fsync(folder.get()) != 0) {
    fail("be synced", directory);
  }
}

}  // namespace gangway
