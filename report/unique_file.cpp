// SPDX-License-Identifier: MIT
#include "report/unique_file.hpp"

#include <cerrno>
#include <system_error>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/errors.hpp"

namespace gangway::report {

UniqueFile open_to_append(const std::filesystem::path& path) {
  UniqueFile file(std::fopen(path.c_str(), "abe"));
  if (!file) {
    throw EnvironmentError(
        fmt::format("{}: cannot be opened for writing ({}); check the folder and its permissions",
                    path.string(), std::generic_category().message(errno)));
  }
  return file;
}

void append_bytes(std::FILE* file, const std::filesystem::path& path, std::string_view bytes) {
  const int descriptor = ::fileno(file);  // a stream would buffer bytes that a full disk rejected
  struct stat before {};
  int error = ::fstat(descriptor, &before) == 0 ? 0 : errno;
  for (std::string_view left = bytes; error == 0 && !left.empty();) {
    const ssize_t written = ::write(descriptor, left.data(), left.size());
    if (written > 0) {
      left.remove_prefix(static_cast<std::size_t>(written));
    } else if (written == 0 || errno != EINTR) {
      error = written == 0 ? ENOSPC : errno;
      (void)!::ftruncate(descriptor, before.st_size);  // the next append starts a line
    }
  }
  if (error != 0) {
    throw EnvironmentError(fmt::format("{}: cannot be written ({}); make room on the disk",
                                       path.string(), std::generic_category().message(error)));
  }
}

}  // namespace gangway::report
