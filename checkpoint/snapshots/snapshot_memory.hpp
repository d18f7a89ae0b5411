// SPDX-License-Identifier: MIT
// A worker's snapshots: its part of one weight version of everything, copied and hashed into
// memory that outlives the process (docs/snapshots.md). No LibTorch, no MPI.
//
// Filled by the worker's communication lane between two updates (`begin`, `copy`, `complete`: no
// allocation, no system call); read by its writer thread, which pins what it reads. A later start
// reads what is left by checkpoint/snapshots/snapshot_files.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/format/stored_tensor.hpp"
#include "checkpoint/snapshots/snapshot.hpp"
#include "run/snapshot_id.hpp"

namespace gangway::checkpoint {

class SnapshotMemory;

/// A complete snapshot that is not overwritten while this object lives. Any thread; at most as long
/// as its SnapshotMemory.
class PinnedSnapshot {
 public:
  PinnedSnapshot(PinnedSnapshot&& other) noexcept;
  PinnedSnapshot& operator=(PinnedSnapshot&&) = delete;
  ~PinnedSnapshot();
  PinnedSnapshot(const PinnedSnapshot&) = delete;
  PinnedSnapshot& operator=(const PinnedSnapshot&) = delete;

  [[nodiscard]] SnapshotId id() const { return id_; }
  /// Index as given to the constructor of SnapshotMemory.
  [[nodiscard]] std::span<const std::byte> bytes(std::size_t piece) const;
  [[nodiscard]] PieceHash hash(std::size_t piece) const;
  /// All pieces with their hashes, as write_worker_pieces() takes them; they borrow from this.
  [[nodiscard]] std::vector<PieceRecord> records() const;
  /// All pieces by descending item size, then name, then begin, without gaps: the data of a
  /// safetensors file. Starts at a page; zeroes follow up to the next page.
  [[nodiscard]] std::span<const std::byte> data() const;
  /// The first mismatch with its hash, in one line; nothing when all is well. Reads everything.
  [[nodiscard]] std::optional<std::string> find_damage() const;

 private:
  friend class SnapshotMemory;
  PinnedSnapshot(SnapshotMemory* memory, std::size_t slot, SnapshotId id)
      : memory_(memory), slot_(slot), id_(id) {}
  SnapshotMemory* memory_;
  std::size_t slot_;
  SnapshotId id_;
};

/// Two or more slots, each a file of its own in `place.folder`.
class SnapshotMemory {
 public:
  static constexpr int kMinSlots = 2;
  static constexpr int kMaxSlots = 8;

  /// Makes the files, with all of their memory reserved and touched. A slot that a dead process of
  /// the same worker left is taken over with its content when its pieces are the same, and replaced
  /// when not.
  /// @param num_slots  two, or three so that a snapshot can be taken while another is pinned
  /// @throws EnvironmentError where there is no room (needed, free, remedy) or a living process has
  /// the slot; InvariantError where a piece contradicts itself.
  SnapshotMemory(SnapshotPlace place, std::vector<TensorStretch> pieces, int num_slots = kMinSlots);
  /// The files stay.
  ~SnapshotMemory();
  SnapshotMemory(const SnapshotMemory&) = delete;
  SnapshotMemory& operator=(const SnapshotMemory&) = delete;

  [[nodiscard]] const std::vector<TensorStretch>& pieces() const;
  /// Of one slot: what a snapshot copies.
  [[nodiscard]] std::size_t data_bytes() const;

  // --- Filling. One thread. ---

  /// Starts a snapshot over the oldest content that is neither pinned, nor protected, nor the
  /// newest; it is invalid from here on. An unfinished snapshot is dropped.
  /// @pre id.num_workers is the place's
  /// @return whether a slot was free; if not, nothing has changed and there is no such snapshot.
  [[nodiscard]] bool begin(SnapshotId id) noexcept;
  /// Appends to a piece: its bytes come in order, in as many calls as one likes; pieces in any
  /// order. @pre begin() gave a slot. @throws InvariantError beyond the end of the piece.
  void copy(std::size_t piece, std::span<const std::byte> source);
  /// Of the bytes copied to the piece so far; a buddy compares it with the owner's.
  [[nodiscard]] PieceHash hash(std::size_t piece) const;
  /// Makes the snapshot valid. @throws InvariantError naming a piece that is not whole.
  void complete();
  /// Drops the snapshot that was begun.
  void abandon() noexcept;

  // --- Any thread. ---

  /// The newest snapshot of a step at which every worker has one: not overwritten until a later
  /// call names another, so that the next generation may be half taken when all die.
  void protect(std::int64_t step) noexcept;
  /// Snapshots that are whole, newest first.
  [[nodiscard]] std::vector<SnapshotId> ids() const;
  /// The one of `step`.
  [[nodiscard]] std::optional<PinnedSnapshot> pin(std::int64_t step);
  /// Takes the files' names away: the run has ended well, or another layout has taken over.
  void remove() noexcept;

 private:
  friend class PinnedSnapshot;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gangway::checkpoint
