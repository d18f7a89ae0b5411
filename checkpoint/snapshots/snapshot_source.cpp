// SPDX-License-Identifier: MIT
#include "checkpoint/snapshots/snapshot_source.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace gangway::checkpoint {
namespace {

/// Copies the piece's elements in [begin, end); returns their number.
std::uint64_t copy_overlap(const SnapshotFile& part, std::size_t index, std::uint64_t begin,
                           std::uint64_t end, std::span<std::byte> out) {
  const TensorStretch& piece = part.pieces()[index];
  const std::uint64_t from = std::max(begin, piece.begin);
  const std::uint64_t to = std::min(end, piece.end);
  if (from >= to) {
    return 0;
  }
  const std::size_t item = item_size(piece.type);
  std::memcpy(out.data() + (from - begin) * item,
              part.bytes(index).data() + (from - piece.begin) * item, (to - from) * item);
  return to - from;
}

}  // namespace

ElementSource elements_of(std::vector<SnapshotFile> parts) {
  // Shared, because std::function copies it.
  const auto held = std::make_shared<const std::vector<SnapshotFile>>(std::move(parts));
  return [held](const StoredTensor& tensor, std::uint64_t begin, std::uint64_t end,
                std::span<std::byte> out) {
    std::uint64_t copied = 0;
    for (const SnapshotFile& part : *held) {
      for (std::size_t index = 0; index < part.pieces().size(); ++index) {
        const TensorStretch& piece = part.pieces()[index];
        if (piece.name == tensor.name && piece.type == tensor.type && piece.order == tensor.order &&
            piece.shape == tensor.shape) {
          copied += copy_overlap(part, index, begin, end, out);
        }
      }
    }
    return copied >= end - begin;
  };
}

}  // namespace gangway::checkpoint
