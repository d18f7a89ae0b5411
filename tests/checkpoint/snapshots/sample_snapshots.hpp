// SPDX-License-Identifier: MIT
// A small state in pieces, whose bytes depend on the step.
#pragma once

#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/hash.hpp"
#include "checkpoint/snapshots/snapshot_files.hpp"
#include "checkpoint/snapshots/snapshot_memory.hpp"
#include "checkpoint/snapshots/snapshot_slot.hpp"

namespace gangway::checkpoint {

inline SnapshotPlace sample_place(const std::filesystem::path& folder, int worker = 0,
                                  int num_workers = 1, int replica = 0) {
  return {.folder = folder,
          .run_directory = folder / "run",
          .job_fingerprint = "job",
          .worker = worker,
          .num_workers = num_workers,
          .replica = replica};
}

inline std::vector<TensorStretch> sample_pieces() {
  return {
      {.name = "generator/0/weight",
       .type = ElementType::kF32,
       .order = StoredOrder::kChannelsLast,
       .shape = {16, 5, 3, 3},
       .begin = 0,
       .end = 320},
      {.name = "generator/0/weight",
       .type = ElementType::kF32,
       .order = StoredOrder::kChannelsLast,
       .shape = {16, 5, 3, 3},
       .begin = 320,
       .end = 700},
      {.name = "generator/1/bias", .type = ElementType::kF32, .shape = {7}, .begin = 2, .end = 7},
      {.name = "generator_optimizer/updates",
       .type = ElementType::kI64,
       .shape = {},
       .begin = 0,
       .end = 1},
      {.name = "nothing", .type = ElementType::kU8, .shape = {0}, .begin = 0, .end = 0}};
}

/// Returns bytes of the piece's length that differ between pieces and between steps.
inline std::string sample_text(const TensorStretch& piece, std::int64_t step) {
  std::string text;
  while (text.size() < piece.bytes()) {
    text += std::to_string(step) + piece.name + std::to_string(piece.begin) + ' ';
  }
  text.resize(piece.bytes());
  return text;
}

inline std::string as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// @return false if no slot was free
inline bool take_sample(SnapshotMemory& memory, SnapshotId id) {
  if (!memory.begin(id)) {
    return false;
  }
  for (std::size_t piece = 0; piece < memory.pieces().size(); ++piece) {
    const std::string text = sample_text(memory.pieces()[piece], id.step);
    memory.copy(piece, std::as_bytes(std::span(text)));
  }
  memory.complete();
  return true;
}

/// Returns the complete snapshots of the first steps, newest first.
inline std::vector<SnapshotId> ids_in(SnapshotMemory& memory) {
  std::vector<SnapshotId> ids;
  for (std::int64_t step = 20; step >= 0; --step) {
    if (const auto pinned = memory.pin(step)) {
      ids.push_back(pinned->id());
    }
  }
  return ids;
}

/// Returns the name of the first tensor whose bytes differ from their hash.
inline std::optional<std::string> damage_in(const PinnedSnapshot& snapshot) {
  for (const PieceRecord& record : snapshot.records()) {
    if (hash_of(record.bytes) != record.xxh3_128) {
      return record.of.name;
    }
  }
  return std::nullopt;
}

inline std::string sample_key(const std::filesystem::path& folder) {
  return snapshot_key(folder / "run", "job", {});
}

inline std::vector<SnapshotEntry> find_sample(const std::filesystem::path& folder) {
  return find_snapshots(std::span(&folder, 1), sample_key(folder));
}

/// Leaves the files of a dead worker.
inline void leave(const std::filesystem::path& folder, std::vector<std::int64_t> steps,
                  int worker = 0, int num_workers = 1, int replica = 0) {
  SnapshotMemory memory(sample_place(folder, worker, num_workers, replica), sample_pieces());
  for (const std::int64_t step : steps) {
    ASSERT_TRUE(take_sample(memory, {.step = step, .num_workers = num_workers}));
  }
}

inline std::filesystem::path file_of(const std::filesystem::path& folder, std::int64_t step,
                                     int worker = 0, int replica = 0) {
  for (const SnapshotEntry& entry : find_sample(folder)) {
    if (entry.id.step == step && entry.worker == worker && entry.replica == replica) {
      return entry.file;
    }
  }
  return {};
}

inline std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline void write_bytes(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
}

/// Changes a byte of the piece's data.
inline void damage(const std::filesystem::path& file, std::size_t piece) {
  std::size_t at = 0;
  {
    const SnapshotFile snapshot(file);
    const std::string text = as_text(snapshot.bytes(piece));
    at = bytes_of(file).find(text);
  }
  std::string bytes = bytes_of(file);
  bytes.at(at + 3) ^= 1;
  write_bytes(file, bytes);
}

}  // namespace gangway::checkpoint
