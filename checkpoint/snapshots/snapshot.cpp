// SPDX-License-Identifier: MIT
#include "checkpoint/snapshots/snapshot.hpp"

#include <fmt/format.h>
#include <xxhash.h>

namespace gangway::checkpoint {

std::string PieceHash::hex() const { return fmt::format("{:016x}{:016x}", high, low); }

PieceHash hash_bytes(std::span<const std::byte> bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {.low = hash.low64, .high = hash.high64};
}

}  // namespace gangway::checkpoint
