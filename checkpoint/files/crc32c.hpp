// SPDX-License-Identifier: MIT
// CRC32C (Castagnoli), by the processor's own instructions where it has them: finds in which 4 MiB
// of a checkpoint file the damage is. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gangway::checkpoint {

/// A file is checked and repaired in turns of this size, counted from its first byte.
inline constexpr std::size_t kChunkBytes = std::size_t{4} << 20U;

/// As iSCSI, ext4 and Google's crc32c print it: 0xe3069283 for "123456789". @param before the value
/// of what precedes `bytes`; 0 for nothing.
[[nodiscard]] std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0);

}  // namespace gangway::checkpoint
