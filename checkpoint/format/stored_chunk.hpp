// SPDX-License-Identifier: MIT
// Stretches of a checkpoint's files that are read and verified at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gangway::checkpoint {

/// Elements of one tensor in one chunk.
struct ChunkPart {
  std::size_t tensor = 0;   ///< index of StoredState::tensors()
  std::uint64_t begin = 0;  ///< elements, in stored order
  std::uint64_t end = 0;
  std::size_t offset = 0;  ///< bytes, from the chunk's first
  std::size_t bytes = 0;
};

/// A stretch of a file that is read and verified at once.
struct StoredChunk {
  int file = 0;                  ///< index of Manifest::files
  std::uint64_t index = 0;       ///< in the file: it starts at index * kChunkBytes
  std::size_t bytes = 0;         ///< kChunkBytes but for the last
  std::vector<ChunkPart> parts;  ///< by offset; the file's header is of none
};

}  // namespace gangway::checkpoint
