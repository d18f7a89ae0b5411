// SPDX-License-Identifier: MIT
#include "checkpoint/format/worker_file.hpp"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/hash.hpp"
#include "checkpoint/files/chunk_writer.hpp"
#include "checkpoint/files/durable_file.hpp"
#include "checkpoint/files/strict_json.hpp"
#include "checkpoint/format/names.hpp"
#include "checkpoint/format/safetensors_layout.hpp"
#include "checkpoint/format/tensor_list.hpp"

namespace gangway::checkpoint {

namespace fs = std::filesystem;

namespace {

/// Lists the pieces as the record does, grouped by tensor in order of first appearance.
std::vector<StoredTensor> listed_tensors(std::span<const PieceRecord> pieces) {
  std::vector<StoredTensor> tensors;
  std::map<std::string_view, std::size_t> places;
  for (const PieceRecord& record : pieces) {
    const auto [place, is_new] = places.emplace(record.of.name, tensors.size());
    if (is_new) {
      tensors.push_back({.name = record.of.name,
                         .type = record.of.type,
                         .shape = record.of.shape,
                         .order = record.of.order});
    }
    StoredTensor& tensor = tensors[place->second];
    if (tensor.type != record.of.type || tensor.shape != record.of.shape ||
        tensor.order != record.of.order) {
      throw InvariantError(
          fmt::format("tensor '{}' is given twice with other types or shapes", record.of.name));
    }
    tensor.pieces.push_back(
        {.begin = record.of.begin,
         .end = record.of.end,
         .xxh3_128 = record.xxh3_128.empty() ? hash_of(record.bytes) : record.xxh3_128});
  }
  for (const StoredTensor& tensor : tensors) {
    if (const std::string wrong = wrong_with(tensor); !wrong.empty()) {
      throw InvariantError(fmt::format("tensor '{}': {}", printable(tensor.name), wrong));
    }
  }
  return tensors;
}

using PieceKey = std::pair<std::string_view, std::uint64_t>;

std::map<PieceKey, std::span<const std::byte>> bytes_by_piece(std::span<const PieceRecord> pieces) {
  std::map<PieceKey, std::span<const std::byte>> bytes;
  for (const PieceRecord& record : pieces) {
    if (record.of.bytes() != record.bytes.size()) {
      throw InvariantError(fmt::format("tensor '{}': {} bytes given for elements {} to {} of {}",
                                       record.of.name, record.bytes.size(), record.of.begin,
                                       record.of.end, type_name(record.of.type)));
    }
    if (!bytes.emplace(PieceKey(record.of.name, record.of.begin), record.bytes).second) {
      throw InvariantError(fmt::format("tensor '{}': elements from {} on are given twice",
                                       record.of.name, record.of.begin));
    }
  }
  return bytes;
}

/// Joins pieces that are contiguous in memory, so that a snapshot's data is written without a copy.
std::vector<std::span<const std::byte>> runs_of(
    const std::vector<PlacedPiece>& placed,
    const std::map<PieceKey, std::span<const std::byte>>& bytes) {
  std::vector<std::span<const std::byte>> runs;
  for (const PlacedPiece& piece : placed) {
    const std::span<const std::byte> next = bytes.at({piece.tensor->name, piece.piece->begin});
    if (next.empty()) {
      continue;
    }
    if (!runs.empty() && runs.back().data() + runs.back().size() == next.data()) {
      runs.back() = {runs.back().data(), runs.back().size() + next.size()};
    } else {
      runs.push_back(next);
    }
  }
  return runs;
}

}  // namespace

std::map<std::string, std::string> metadata_of(const FileIdentity& identity) {
  return {{"gangway.step", fmt::format("{}", identity.step)},
          {"gangway.epoch", fmt::format("{}", identity.epoch)},
          {"gangway.worker", fmt::format("{}", identity.worker)},
          {"gangway.workers", fmt::format("{}", identity.num_workers)}};
}

std::string lay_out_pieces(std::vector<PlacedPiece>& pieces, const FileIdentity& identity) {
  std::sort(pieces.begin(), pieces.end(), [](const PlacedPiece& a, const PlacedPiece& b) {
    return std::tuple(item_size(b.tensor->type), std::string_view(a.tensor->name), a.piece->begin) <
           std::tuple(item_size(a.tensor->type), std::string_view(b.tensor->name), b.piece->begin);
  });
  std::vector<FileEntry> entries;
  for (const PlacedPiece& placed : pieces) {
    FileEntry entry{.name = piece_name(*placed.tensor, *placed.piece), .type = placed.tensor->type};
    if (is_stored_whole(*placed.tensor, *placed.piece)) {
      entry.shape = placed.tensor->shape;
    } else {
      entry.shape = {static_cast<std::int64_t>(placed.piece->end - placed.piece->begin)};
    }
    entries.push_back(std::move(entry));
  }
  std::map<std::string, std::string> metadata = metadata_of(identity);
  metadata.emplace("format", "pt");
  std::string header = lay_out(entries, metadata);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    pieces[i].position = header.size() + entries[i].begin;
  }
  return header;
}

std::uint64_t file_bytes(std::uint64_t header_bytes, const std::vector<PlacedPiece>& pieces) {
  return pieces.empty() ? header_bytes : pieces.back().position + pieces.back().bytes();
}

FileReport write_worker_pieces(const fs::path& temporary, const FileIdentity& identity,
                               std::span<const PieceRecord> pieces,
                               const std::function<void()>& on_chunk, const FileSystem& files) {
  if (identity.worker < 0 || identity.worker >= identity.num_workers) {
    throw InvariantError(fmt::format("rank {} of {} writes a checkpoint", identity.worker + 1,
                                     identity.num_workers));
  }
  const std::map<PieceKey, std::span<const std::byte>> bytes = bytes_by_piece(pieces);
  const std::vector<StoredTensor> tensors = listed_tensors(pieces);
  std::vector<PlacedPiece> placed;
  for (const StoredTensor& tensor : tensors) {
    for (const TensorPiece& piece : tensor.pieces) {
      placed.push_back({.tensor = &tensor, .piece = &piece});
    }
  }
  const std::string header = lay_out_pieces(placed, identity);
  WorkerRecord record{.file = worker_file_name(identity.worker, identity.num_workers),
                      .bytes = file_bytes(header.size(), placed),
                      .tensors = tensors};
  ChunkWriter file(files, temporary / record.file, record.bytes, on_chunk);
  file.append(std::as_bytes(std::span(header.data(), header.size())));
  for (const std::span<const std::byte> run : runs_of(placed, bytes)) {
    file.append(run);
  }
  record.chunk_crc32c = file.finish();
  const std::string text = to_json(record);
  // Not synced: useless once the manifest is written.
  write_new_file(files, temporary / record_name(record.file), text, Durability::kWhenever);
  sync_directory(files, temporary);
  return {.name = record.file, .bytes = record.bytes, .xxh3_128 = hash_of(text)};
}

}  // namespace gangway::checkpoint
