// SPDX-License-Identifier: MIT
#include "report/unique_file.hpp"

#include <cerrno>
#include <system_error>

#include <fmt/format.h>

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
  if (std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size() || std::fflush(file) != 0) {
    throw EnvironmentError(fmt::format("{}: cannot be written ({}); make room on the disk",
                                       path.string(), std::generic_category().message(errno)));
  }
}

}  // namespace gangway::report
