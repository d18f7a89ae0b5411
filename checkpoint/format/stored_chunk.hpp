// SPDX-License-Identifier: MIT
// Chunks of a checkpoint's files: the unit of reading and verification. Value types.
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
  std::size_t offset = 0;  ///< bytes, from the start of the chunk
  std::size_t bytes = 0;
};

/// A contiguous part of a file that is read and verified as a unit.
struct StoredChunk {
  int file = 0;                  ///< index of Manifest::files
  std::uint64_t index = 0;       ///< in the file: starts at index * kChunkBytes
  std::size_t bytes = 0;         ///< kChunkBytes, less for the last chunk
  std::vector<ChunkPart> parts;  ///< by offset; the file's header belongs to no part
};

}  // namespace gangway::checkpoint
