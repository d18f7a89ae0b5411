// SPDX-License-Identifier: MIT
#include "launch/data/require_there.hpp"

#include <filesystem>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "data/archives/tar_archive.hpp"

namespace gangway::launch {

void require_there(const std::string& location) {
  for (const std::filesystem::path& file : data::tars_of(location)) {
    if (std::error_code failure; !std::filesystem::exists(file, failure) && !failure) {
      throw ConfigError(fmt::format("{}: there is no such folder or file", file.string()));
    }
  }
}

}  // namespace gangway::launch
