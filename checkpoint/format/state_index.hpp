// SPDX-License-Identifier: MIT
// Where every piece of a checkpoint is: manifest and headers, checked against one another. Internal
// to the store, but for read_manifest.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/format/manifest.hpp"
#include "checkpoint/format/stored_chunk.hpp"
#include "checkpoint/format/stored_tensor.hpp"

namespace gangway::checkpoint {

/// A piece as a file holds it.
struct FilePiece {
  std::size_t tensor = 0;  ///< index of StateIndex::tensors
  std::size_t piece = 0;   ///< index of its pieces
  std::uint64_t position = 0;
  std::uint64_t bytes = 0;
};

struct StateIndex {
  std::vector<StoredTensor> tensors;          ///< by name; pieces with their positions
  std::vector<std::vector<FilePiece>> files;  ///< by position, without empty ones
};

/// Every listed file is there with its size, and no other worker's file. @throws CheckpointError.
void require_files(const std::filesystem::path& directory, const Manifest& manifest);

/// Opens every file's header. @throws CheckpointError naming file and tensor.
[[nodiscard]] StateIndex index_state(const std::filesystem::path& directory,
                                     const Manifest& manifest);

/// The manifest of a folder, whose name, where it is one of ours, must agree.
[[nodiscard]] Manifest read_manifest(const std::filesystem::path& checkpoint);

/// Chunk `index` of a file of `file_bytes` and what it holds.
[[nodiscard]] StoredChunk chunk_of(const StateIndex& index, int file, std::uint64_t chunk,
                                   std::uint64_t file_bytes);

/// "worker-0000-of-0002.safetensors: chunk 3 (bytes 12582912 to 16777216, tensor 'a')".
[[nodiscard]] std::string describe(const StateIndex& index, const StoredChunk& chunk,
                                   const std::filesystem::path& file);

}  // namespace gangway::checkpoint
