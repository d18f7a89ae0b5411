// SPDX-License-Identifier: MIT
#include "base/secret.hpp"

#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/random.h>

#include "base/errors.hpp"

namespace gangway {

std::string new_secret() {
  std::array<unsigned char, 32> bits{};
  if (::getrandom(bits.data(), bits.size(), 0) != static_cast<ssize_t>(bits.size())) {
    throw EnvironmentError(
        fmt::format("the kernel gives no random bytes for a token: {}", std::strerror(errno)));
  }
  return fmt::format("{:02x}", fmt::join(bits, ""));
}

bool is_same_secret(std::string_view a, std::string_view b) {
  volatile unsigned char difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    difference = difference | static_cast<unsigned char>(a[i] ^ b[i]);
  }
  return difference == 0;
}

}  // namespace gangway
