// SPDX-License-Identifier: MIT
#include "worker/state_source.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "job/errors.hpp"

namespace gangway::worker {

SnapshotSource::SnapshotSource(checkpoint::CompleteSnapshot snapshot)
    : snapshot_(std::move(snapshot)) {
  struct Found {
    checkpoint::SnapshotPiece piece;
    Where where;
  };
  std::map<std::string, std::vector<Found>> found;
  for (std::size_t part = 0; part < snapshot_.parts.size(); ++part) {
    const auto& pieces = snapshot_.parts[part].pieces();
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      found[pieces[i].name].push_back({pieces[i], {part, i}});
    }
  }
  for (auto& [name, parts] : found) {
    std::ranges::sort(parts, {}, [](const Found& one) { return one.piece.begin; });
    const checkpoint::SnapshotPiece& first = parts.front().piece;
    Entry entry{.tensor = {.name = name,
                           .type = first.type,
                           .shape = first.shape,
                           .order = first.order}};
    std::uint64_t next = 0;
    for (const Found& one : parts) {
      if (one.piece.begin != next || one.piece.shape != first.shape ||
          one.piece.type != first.type || one.piece.order != first.order) {
        throw CheckpointError(fmt::format("{}: the pieces of '{}' do not fit together", this->name(),
                                          name));
      }
      next = one.piece.end;
      entry.tensor.pieces.push_back({.begin = one.piece.begin, .end = one.piece.end});
      entry.where.push_back(one.where);
    }
    if (next != entry.tensor.num_elements()) {
      throw CheckpointError(
          fmt::format("{}: '{}' is not whole: it ends at element {}", this->name(), name, next));
    }
    tensors_.emplace(name, std::move(entry));
  }
}

std::string SnapshotSource::name() const {
  return fmt::format("snapshot of step {}", snapshot_.moment.step);
}

const checkpoint::StoredTensor* SnapshotSource::find(const std::string& tensor) const {
  const auto found = tensors_.find(tensor);
  return found == tensors_.end() ? nullptr : &found->second.tensor;
}

void SnapshotSource::read(const checkpoint::StoredTensor& tensor, std::uint64_t begin,
                          std::uint64_t end, std::span<std::byte> out) {
  const Entry& entry = tensors_.at(tensor.name);
  const std::size_t item = checkpoint::item_size(tensor.type);
  for (std::size_t i = 0; i < entry.where.size(); ++i) {
    const checkpoint::TensorPiece& piece = entry.tensor.pieces[i];
    const std::uint64_t from = std::max(begin, piece.begin);
    const std::uint64_t to = std::min(end, piece.end);
    if (from < to) {
      const checkpoint::SnapshotFile& part = snapshot_.parts[entry.where[i].part];
      part.verify(entry.where[i].piece);
      const std::span<const std::byte> bytes = part.bytes(entry.where[i].piece);
      std::memcpy(out.data() + (from - begin) * item, bytes.data() + (from - piece.begin) * item,
                  (to - from) * item);
    }
  }
}

void SnapshotSource::read_row_major(const checkpoint::StoredTensor& tensor,
                                    std::span<std::byte> out) {
  std::vector<std::byte> stored(out.size());
  read(tensor, 0, tensor.num_elements(), stored);
  checkpoint::place_row_major(tensor, 0, stored, out);
}

}  // namespace gangway::worker
