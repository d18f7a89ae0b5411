// SPDX-License-Identifier: MIT
// Lays out and writes a worker's file of a checkpoint. Called by the worker's writer thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/files/file_system.hpp"
#include "checkpoint/format/manifest.hpp"
#include "checkpoint/format/safetensors.hpp"
#include "checkpoint/format/stored_tensor.hpp"

namespace gangway::checkpoint {

/// Identifies the step and the writer of a worker's file. The file's metadata stores it, so that a
/// checkpoint never mixes files of two steps.
struct FileIdentity {
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  int worker = 0;
  int num_workers = 1;
};

/// A piece and the position of its bytes in its file. Tensor and piece are borrowed.
struct PlacedPiece {
  const StoredTensor* tensor = nullptr;
  const TensorPiece* piece = nullptr;
  std::uint64_t position = 0;

  [[nodiscard]] std::uint64_t bytes() const {
    return (piece->end - piece->begin) * item_size(tensor->type);
  }
};

/// Returns "gangway.step", "gangway.epoch", "gangway.worker" and "gangway.workers".
[[nodiscard]] std::map<std::string, std::string> metadata_of(const FileIdentity& identity);

/// Sorts a file's pieces by descending item size, tensor and begin; sets their positions; returns
/// the file's header. Deterministic: the same pieces always give the same bytes.
/// @throws InvariantError.
[[nodiscard]] std::string lay_out_pieces(std::vector<PlacedPiece>& pieces,
                                         const FileIdentity& identity);

/// Returns the bytes of a file with `header_bytes` bytes of header.
[[nodiscard]] std::uint64_t file_bytes(std::uint64_t header_bytes,
                                       const std::vector<PlacedPiece>& pieces);

/// Writes and syncs a worker's only file in the folder from begin_checkpoint. Every worker writes a
/// file, even without pieces. Uses direct I/O if the file system supports it; copies at most a
/// chunk. Also writes a record of the pieces' hashes and chunk sums, which commit_checkpoint moves
/// into the manifest.
/// @param on_chunk  called for each chunk that goes to the disk, as a sign of progress
/// @throws as write_safetensors.
[[nodiscard]] FileReport write_worker_pieces(const std::filesystem::path& temporary,
                                             const FileIdentity& identity,
                                             std::span<const PieceRecord> pieces,
                                             const std::function<void()>& on_chunk = {},
                                             const FileSystem& files = PosixFileSystem());

}  // namespace gangway::checkpoint
