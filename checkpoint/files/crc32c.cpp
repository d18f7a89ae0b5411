// SPDX-License-Identifier: MIT
#include "checkpoint/files/crc32c.hpp"

#include <algorithm>

#include <isa-l/crc.h>

namespace gangway::checkpoint {

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 30U;  // the library counts in int
  std::uint32_t sum = ~before;
  while (!bytes.empty()) {
    const std::span<const std::byte> part = bytes.first(std::min(bytes.size(), kMostBytes));
    // The library takes a pointer to non-const, but only reads.
    sum = ::crc32_iscsi(reinterpret_cast<unsigned char*>(const_cast<std::byte*>(part.data())),
                        static_cast<int>(part.size()), sum);
    bytes = bytes.subspan(part.size());
  }
  return ~sum;
}

}  // namespace gangway::checkpoint
