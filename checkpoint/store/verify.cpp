// SPDX-License-Identifier: MIT
#include "checkpoint/store/verify.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/hash.hpp"
#include "checkpoint/format/manifest.hpp"
#include "checkpoint/format/stored_state.hpp"
#include "checkpoint/format/stored_tensor.hpp"

namespace gangway::checkpoint {

namespace {

/// Hashes the pieces of a file in file order.
class PieceHashes {
 public:
  explicit PieceHashes(const StoredState& state) : state_(state) {}

  void add(const StoredChunk& chunk, std::span<const std::byte> bytes) {
    for (const ChunkPart& part : chunk.parts) {
      const StoredTensor& tensor = state_.tensors()[part.tensor];
      const TensorPiece& piece = piece_at(tensor, part.begin);
      if (part.begin == piece.begin) {
        hasher_.emplace();
      }
      hasher_->update(bytes.subspan(part.offset, part.bytes));
      if (part.end == piece.end) {
        compare(tensor, piece, hasher_->hex());
      }
    }
  }

  void compare(const StoredTensor& tensor, const TensorPiece& piece,
               const std::string& hash) const {
    if (hash != piece.xxh3_128) {
      const ManifestFile& file = state_.manifest().files[static_cast<std::size_t>(piece.file)];
      throw CheckpointError(fmt::format(
          "{}: tensor '{}': elements {} to {} hash to {}, the manifest says {}: damaged",
          (state_.path() / file.name).string(), tensor.name, piece.begin, piece.end, hash,
          piece.xxh3_128));
    }
  }

 private:
  static const TensorPiece& piece_at(const StoredTensor& tensor, std::uint64_t element) {
    const auto after = std::ranges::upper_bound(tensor.pieces, element, {}, &TensorPiece::begin);
    return *std::prev(after);
  }

  const StoredState& state_;
  std::optional<Hasher> hasher_;
};

/// Checks format 1: names and file hashes. StoredState has already read them.
void require_names(const StoredState& state) {
  const Manifest& manifest = state.manifest();
  Hasher hasher;
  for (const StoredTensor& tensor : state.tensors()) {
    hasher.update(tensor.name);
    hasher.update("\n");
  }
  if (std::ssize(state.tensors()) != manifest.tensor_count ||
      hasher.hex() != manifest.tensor_names_xxh3_128) {
    throw CheckpointError(fmt::format(
        "{}: its files hold {} tensors, the manifest knows {} (or other names): damaged",
        state.path().string(), state.tensors().size(), manifest.tensor_count));
  }
}

}  // namespace

Manifest verify_checkpoint(const std::filesystem::path& checkpoint) {
  StoredState state(checkpoint);
  if (state.manifest().format_version == 1) {
    require_names(state);
    return state.manifest();
  }
  PieceHashes hashes(state);
  const std::vector<StoredChunk> chunks = state.chunks();
  state.read_chunks(chunks, [&](const StoredChunk& chunk, std::span<const std::byte> bytes) {
    hashes.add(chunk, bytes);
  });
  for (const StoredTensor& tensor : state.tensors()) {
    if (tensor.num_elements() == 0) {
      hashes.compare(tensor, tensor.pieces.front(), hash_of(std::span<const std::byte>()));
    }
  }
  return state.manifest();
}

}  // namespace gangway::checkpoint
