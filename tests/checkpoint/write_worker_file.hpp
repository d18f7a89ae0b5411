// SPDX-License-Identifier: MIT
// Writes a worker's file of whole tensors.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "checkpoint/format/safetensors.hpp"
#include "checkpoint/format/worker_file.hpp"

namespace gangway::checkpoint {

[[nodiscard]] inline FileReport write_worker_file(const std::filesystem::path& temporary,
                                                  const FileIdentity& identity,
                                                  std::span<const TensorRecord> tensors,
                                                  const FileSystem& files = PosixFileSystem()) {
  std::vector<PieceRecord> pieces;
  pieces.reserve(tensors.size());
  for (const TensorRecord& tensor : tensors) {
    pieces.push_back({.of = {.name = tensor.name,
                             .type = tensor.type,
                             .shape = tensor.shape,
                             .end = tensor.bytes.size() / item_size(tensor.type)},
                      .bytes = tensor.bytes});
  }
  return write_worker_pieces(temporary, identity, pieces, {}, files);
}

}  // namespace gangway::checkpoint
