// SPDX-License-Identifier: MIT
// Indexes the pieces of a checkpoint: checks manifest and headers against each other. Internal to
// the store, except read_manifest(). Any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/format/manifest.hpp"
#include "checkpoint/format/stored_chunk.hpp"
#include "checkpoint/format/stored_tensor.hpp"

namespace gangway::checkpoint {

/// A piece in a file.
struct FilePiece {
  std::size_t tensor = 0;  ///< index into StateIndex::tensors
  std::size_t piece = 0;   ///< index into that tensor's pieces
  std::uint64_t position = 0;
  std::uint64_t bytes = 0;
};

struct StateIndex {
  std::vector<StoredTensor> tensors;          ///< by name; pieces have their positions
  std::vector<std::vector<FilePiece>> files;  ///< by position, without empty pieces
};

/// @throws CheckpointError if a worker's file is missing, extra or of the wrong size.
void require_files(const std::filesystem::path& directory, const Manifest& manifest);

/// Reads every file's header. @throws CheckpointError naming file and tensor.
[[nodiscard]] StateIndex index_state(const std::filesystem::path& directory,
                                     const Manifest& manifest);

/// Reads a folder's manifest. A folder named by step_name() must have the manifest's step.
[[nodiscard]] Manifest read_manifest(const std::filesystem::path& checkpoint);

/// Returns chunk number `chunk` of a file of `file_bytes`, with the pieces that it holds.
[[nodiscard]] StoredChunk chunk_of(const StateIndex& index, int file, std::uint64_t chunk,
                                   std::uint64_t file_bytes);

/// Returns "worker-0000-of-0002.safetensors: chunk 3 (bytes 12582912 to 16777216, tensor 'a')".
[[nodiscard]] std::string describe(const StateIndex& index, const StoredChunk& chunk,
                                   const std::filesystem::path& file);

}  // namespace gangway::checkpoint
