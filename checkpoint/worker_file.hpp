// SPDX-License-Identifier: MIT
// What a worker's file looks like: which pieces, where, under which names. Internal to the store.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/directory.hpp"
#include "checkpoint/stored_tensor.hpp"

namespace gangway::checkpoint {

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

}  // namespace gangway::checkpoint
