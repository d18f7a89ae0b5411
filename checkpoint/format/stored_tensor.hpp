// SPDX-License-Identifier: MIT
// A checkpoint's tensor, complete in one file or in pieces in several workers' files. A worker owns
// slices of a network's arena, so a piece is a range of a tensor's elements in memory order. Value
// types; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/format/element_type.hpp"

namespace gangway::checkpoint {

/// Order of a tensor's elements in its pieces.
enum class StoredOrder : std::uint8_t {
  kRowMajor,
  kChannelsLast,  ///< four axes N, C, H, W, stored N, H, W, C
};

/// Returns "row-major" or "channels-last".
[[nodiscard]] std::string_view order_name(StoredOrder order);

/// Elements [begin, end) of a tensor, in stored order.
struct TensorPiece {
  int file = 0;  ///< index of Manifest::files
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::string xxh3_128;        ///< of the piece's bytes; empty in format 1
  std::uint64_t position = 0;  ///< first byte in the file; set once the file is open
};

/// A tensor of the manifest. Its pieces are contiguous and cover it exactly once.
struct StoredTensor {
  std::string name;
  ElementType type = ElementType::kF32;
  std::vector<std::int64_t> shape;  ///< logical: [N, C, H, W] also for channels-last
  StoredOrder order = StoredOrder::kRowMajor;
  std::vector<TensorPiece> pieces;  ///< by begin

  [[nodiscard]] std::uint64_t num_elements() const;
  [[nodiscard]] std::uint64_t num_bytes() const { return num_elements() * item_size(type); }
};

/// Elements [begin, end) of a tensor, in stored order; possibly all of them.
struct TensorStretch {
  std::string name;  ///< of the tensor
  ElementType type = ElementType::kF32;
  StoredOrder order = StoredOrder::kRowMajor;
  std::vector<std::int64_t> shape;  ///< of the whole tensor, logical
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  [[nodiscard]] std::size_t bytes() const {
    return static_cast<std::size_t>(end - begin) * item_size(type);
  }
  bool operator==(const TensorStretch&) const = default;
};

/// A piece in memory that a worker writes. `bytes` is borrowed until the write is done. A row-major
/// piece that covers its tensor is stored under the tensor's own name and shape; any other piece as
/// `<tensor>@<begin>` with shape [end - begin].
struct PieceRecord {
  TensorStretch of;
  std::span<const std::byte> bytes;  ///< of.bytes() bytes, little-endian
  std::string xxh3_128;              ///< of `bytes`, if the caller has it; empty: computed
};

/// Whether elements [begin, end) are stored under the tensor's own name.
[[nodiscard]] bool is_stored_whole(const StoredTensor& tensor, const TensorPiece& piece);
/// Returns the piece's name in its safetensors file.
[[nodiscard]] std::string piece_name(const StoredTensor& tensor, const TensorPiece& piece);

/// Returns the row-major index of the element at index `stored` in stored order.
[[nodiscard]] std::uint64_t row_major_index(const StoredTensor& tensor, std::uint64_t stored);
/// Copies stored elements [begin, begin + bytes / item) to their places in `row_major`, which holds
/// the complete tensor. @pre begin and sizes are inside the tensor.
void place_row_major(const StoredTensor& tensor, std::uint64_t begin,
                     std::span<const std::byte> bytes, std::span<std::byte> row_major);

}  // namespace gangway::checkpoint
