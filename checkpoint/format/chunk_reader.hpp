// SPDX-License-Identifier: MIT
// Reads chunks of a checkpoint's files, one open file at a time. Internal to the store; one thread.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "checkpoint/files/durable_file.hpp"
#include "checkpoint/format/manifest.hpp"
#include "checkpoint/format/stored_chunk.hpp"

namespace gangway::checkpoint {

class ChunkReader {
 public:
  /// Borrows both references. @param caching  kDirect for a large read that is not repeated
  ChunkReader(const std::filesystem::path& directory, const Manifest& manifest, Caching caching)
      : directory_(directory), manifest_(manifest), caching_(caching) {}

  /// Reads the chunk, unverified, to the front of `buffer`, which holds kChunkBytes bytes.
  /// @throws CheckpointError if the file is missing, has another size or cannot be read.
  std::span<const std::byte> read(const StoredChunk& chunk, std::span<std::byte> buffer);

  [[nodiscard]] std::filesystem::path path_of(int file) const;

 private:
  const std::filesystem::path& directory_;
  const Manifest& manifest_;
  Caching caching_;
  std::optional<OpenFile> open_;
  int open_index_ = -1;
};

/// Compares a chunk's bytes with the manifest's sum; returns the damage. Format 1: always nothing.
[[nodiscard]] std::optional<std::string> damage_in(const Manifest& manifest,
                                                   const StoredChunk& chunk,
                                                   std::span<const std::byte> bytes);

}  // namespace gangway::checkpoint
