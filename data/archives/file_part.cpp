// SPDX-License-Identifier: MIT
#include "data/archives/file_part.hpp"

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/errors.hpp"

namespace gangway::data {

Container open_container(const std::filesystem::path& path) {
  Container container{.path = path,
                      .file = FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC)),
                      .stamp = {}};
  struct stat status {};
  if (!container.file || ::fstat(container.file.get(), &status) != 0) {
    throw ConfigError(fmt::format("{}: {}", path.string(),
                                  errno == ENOENT ? "does not exist; check the path in data.source"
                                                  : "cannot be read; check its permissions"));
  }
  container.stamp = stamp_of(status);
  return container;
}

std::size_t read_at(const Container& container, std::uint64_t offset, std::span<std::uint8_t> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t count = ::pread(container.file.get(), out.data() + done, out.size() - done,
                                  static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      throw ConfigError(fmt::format("{}: cannot be read ({}); restore the file",
                                    container.path.string(),
                                    std::error_code(errno, std::generic_category()).message()));
    }
    if (count == 0) {
      break;
    }
    done += static_cast<std::size_t>(count);
  }
  return done;
}

std::vector<std::uint8_t> read_part(const Container& container, FilePart part) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(part.bytes));
  bytes.resize(read_at(container, part.offset, bytes));
  return bytes;
}

void expect_part(const FileDescriptor& file, FilePart part) {
  (void)::posix_fadvise(file.get(), static_cast<off_t>(part.offset), static_cast<off_t>(part.bytes),
                        POSIX_FADV_WILLNEED);
}

}  // namespace gangway::data
