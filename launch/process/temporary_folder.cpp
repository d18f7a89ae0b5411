// SPDX-License-Identifier: MIT
#include "launch/process/temporary_folder.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "base/errors.hpp"

namespace gangway::launch {

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "gangway-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw EnvironmentError(fmt::format("{} cannot be made: {}: free space, or set TMPDIR", name,
                                       std::strerror(errno)));
  }
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;  // a folder too many does no harm
  std::filesystem::remove_all(path_, ignored);
}

BenchFolder::BenchFolder(const std::string& named) {
  if (named.empty()) {
    path_ = temporary_.emplace().path();
  } else {
    path_ = std::filesystem::absolute(named);
    std::filesystem::create_directories(path_);
  }
}

}  // namespace gangway::launch
