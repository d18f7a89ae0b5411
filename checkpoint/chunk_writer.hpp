// SPDX-License-Identifier: MIT
// Writes a new file in turns of a chunk, summing each. Internal to the store; one thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "checkpoint/crc32c.hpp"
#include "checkpoint/durable_file.hpp"

namespace gangway::checkpoint {

/// Holds one chunk of memory; what lies aligned in the caller's memory is not even copied there.
class ChunkWriter {
 public:
  /// @throws as NewFile.
  ChunkWriter(const std::filesystem::path& path, std::uint64_t bytes);
  void append(std::span<const std::byte> bytes);
  /// Syncs and closes. @return CRC32C of every chunk. @throws as NewFile::finish.
  [[nodiscard]] std::vector<std::uint32_t> finish();

 private:
  void flush();

  NewFile file_;
  AlignedBuffer buffer_;
  std::size_t filled_ = 0;
  std::vector<std::uint32_t> sums_;
};

}  // namespace gangway::checkpoint
