// SPDX-License-Identifier: MIT
// Holds a worker's snapshots: its share of all weights and states at one step, copied and hashed
// into memory that outlives the process (docs/snapshots.md). No LibTorch, no MPI.
//
// Called by the worker's communication lane between two updates: `begin`, `copy`, `complete`
// allocate nothing and make no system call. The writer thread pins a snapshot and reads it. The
// next start reads the files through checkpoint/snapshots/snapshot_files.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "checkpoint/format/stored_tensor.hpp"
#include "checkpoint/snapshots/snapshot.hpp"
#include "run/snapshot_id.hpp"

namespace gangway::checkpoint {

class SnapshotMemory;

/// Protects a complete snapshot from being overwritten while this object lives. Any thread.
/// @pre its SnapshotMemory outlives it
class PinnedSnapshot {
 public:
  PinnedSnapshot(PinnedSnapshot&& other) noexcept;
  PinnedSnapshot& operator=(PinnedSnapshot&&) = delete;
  ~PinnedSnapshot();
  PinnedSnapshot(const PinnedSnapshot&) = delete;
  PinnedSnapshot& operator=(const PinnedSnapshot&) = delete;

  [[nodiscard]] SnapshotId id() const { return id_; }
  /// `piece` indexes the pieces given to the constructor of SnapshotMemory.
  [[nodiscard]] std::span<const std::byte> bytes(std::size_t piece) const;
  [[nodiscard]] PieceHash hash(std::size_t piece) const;
  /// Returns all pieces with their hashes, for write_worker_pieces(). The records borrow from this.
  [[nodiscard]] std::vector<PieceRecord> records() const;

 private:
  friend class SnapshotMemory;
  PinnedSnapshot(SnapshotMemory* memory, std::size_t slot, SnapshotId id)
      : memory_(memory), slot_(slot), id_(id) {}
  SnapshotMemory* memory_;
  std::size_t slot_;
  SnapshotId id_;
};

/// Owns two or more slots; each is a file in `place.folder` that holds one snapshot.
class SnapshotMemory {
 public:
  static constexpr int kMinSlots = 2;
  static constexpr int kMaxSlots = 8;

  /// Makes the slot files and reserves and touches all of their memory. A slot of a dead process of
  /// the same worker keeps its snapshot if its pieces are the same; else it is replaced.
  /// @param num_slots  two; three allow a new snapshot while another is pinned
  /// @throws EnvironmentError if memory is short (needed, free, remedy) or a living process owns
  /// the slot; InvariantError if a piece contradicts itself.
  SnapshotMemory(SnapshotPlace place, std::vector<TensorStretch> pieces, int num_slots = kMinSlots);
  /// Leaves the files in place.
  ~SnapshotMemory();
  SnapshotMemory(const SnapshotMemory&) = delete;
  SnapshotMemory& operator=(const SnapshotMemory&) = delete;

  [[nodiscard]] const std::vector<TensorStretch>& pieces() const;
  /// Returns the bytes of data in one slot, which each snapshot copies.
  [[nodiscard]] std::size_t data_bytes() const;

  // --- Filling: one thread. ---

  /// Starts a snapshot in the slot with the oldest content, which becomes invalid. Never takes a
  /// pinned, protected or newest snapshot. Drops an unfinished snapshot.
  /// @pre id.num_workers is that of the SnapshotPlace
  /// @return whether a slot was free; if not, nothing has changed.
  [[nodiscard]] bool begin(SnapshotId id) noexcept;
  /// Appends bytes to a piece, in order, in any number of calls; pieces come in any order.
  /// @pre begin() returned true. @throws InvariantError beyond the end of the piece.
  void copy(std::size_t piece, std::span<const std::byte> source);
  /// Hashes the bytes copied to the piece so far; a buddy compares it with the owner's.
  [[nodiscard]] PieceHash hash(std::size_t piece) const;
  /// Marks the snapshot as valid. @throws InvariantError naming a piece that is incomplete.
  void complete();
  /// Drops the snapshot that begin() started.
  void abandon() noexcept;

  // --- Any thread. ---

  /// Keeps the snapshot of `step` until a later call names another step. Every worker has a
  /// snapshot of `step`, so a restart works even if all processes die during the next snapshot.
  void protect(std::int64_t step) noexcept;
  /// Returns the snapshot of `step`, pinned; nothing if there is none.
  [[nodiscard]] std::optional<PinnedSnapshot> pin(std::int64_t step);
  /// Unlinks the files: the run has ended well, or another layout has taken over.
  void remove() noexcept;

 private:
  friend class PinnedSnapshot;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gangway::checkpoint
