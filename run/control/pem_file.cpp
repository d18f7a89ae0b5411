// SPDX-License-Identifier: MIT
#include "run/control/pem_file.hpp"

#include <fmt/format.h>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"

namespace gangway {

std::string read_pem(const std::string& path) {
  constexpr std::size_t kLimitBytes = std::size_t{1} << 20U;
  auto text = read_small_file(path, kLimitBytes);
  if (!text) {
    throw ConfigError(
        fmt::format("{}: is not there: output.control_certificate and "
                    "output.control_key name PEM files",
                    path));
  }
  return *text;
}

}  // namespace gangway
