// SPDX-License-Identifier: MIT
// Computes CRC32C (Castagnoli), in hardware if the processor has it. It locates damage in a
// checkpoint file to 4 MiB. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gangway::checkpoint {

/// Chunk size: a file is checked and repaired in such chunks from its first byte.
inline constexpr std::size_t kChunkBytes = std::size_t{4} << 20U;

/// Returns the sum as iSCSI, ext4 and Google's crc32c print it: 0xe3069283 for "123456789".
/// @param before  sum of the bytes before `bytes`; 0 if there are none.
[[nodiscard]] std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0);

}  // namespace gangway::checkpoint
