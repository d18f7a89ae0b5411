// SPDX-License-Identifier: MIT
// A worker's file: what is in it, where, under which names; and how it is written.
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

/// The writer and the step of a worker's file: stored in its metadata, so that files of two steps
/// never mix.
struct FileIdentity {
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  int worker = 0;
  int num_workers = 1;
};

/// A piece and where its bytes are in its file. Tensor and piece are borrowed.
struct PlacedPiece {
  const StoredTensor* tensor = nullptr;
  const TensorPiece* piece = nullptr;
  std::uint64_t position = 0;

  [[nodiscard]] std::uint64_t bytes() const {
    return (piece->end - piece->begin) * item_size(tensor->type);
  }
};

/// "gangway.step", "gangway.epoch", "gangway.worker", "gangway.workers".
[[nodiscard]] std::map<std::string, std::string> metadata_of(const FileIdentity& identity);

/// Sorts the pieces of a file as they are stored (descending item size, then tensor, then begin),
/// gives them their positions and returns the file's header. The same pieces always give the same
/// bytes. @throws InvariantError.
[[nodiscard]] std::string lay_out_pieces(std::vector<PlacedPiece>& pieces,
                                         const FileIdentity& identity);

/// Bytes of a file whose header has `header_bytes`.
[[nodiscard]] std::uint64_t file_bytes(std::uint64_t header_bytes,
                                       const std::vector<PlacedPiece>& pieces);

/// Writes and syncs the one file of a worker in the folder from begin_checkpoint. Every worker
/// writes one, an empty list included. Direct I/O where the file system takes it, no copy larger
/// than a chunk. Beside the file goes a record of its pieces' hashes and chunk sums, which
/// commit_checkpoint moves into the manifest.
/// @param on_chunk  called as each chunk is on its way: that the disk takes something
/// @throws as write_safetensors.
[[nodiscard]] FileReport write_worker_pieces(const std::filesystem::path& temporary,
                                             const FileIdentity& identity,
                                             std::span<const PieceRecord> pieces,
                                             const std::function<void()>& on_chunk = {},
                                             const FileSystem& files = PosixFileSystem());

}  // namespace gangway::checkpoint
