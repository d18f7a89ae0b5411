// SPDX-License-Identifier: MIT
// Copies this worker's part of the state into its snapshot memory while training goes on: on the
// lane, each slice right after the update that makes it the state of the wanted step. Nothing
// drains; the next update of a slice comes after its copy by being on the same thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "checkpoint/snapshot_memory.hpp"
#include "worker/owned_state.hpp"

namespace gangway::worker {

class SnapshotTaker {
 public:
  struct Setup {
    std::vector<NetworkState*> networks;  ///< generator, discriminator
    int worker = 0;
    int num_workers = 1;
    std::int64_t epoch = 0;
    /// Of a snapshot that is whole, or for which there was no room. The thread that copied.
    std::function<void(std::int64_t step, bool taken)> on_end = {};
  };
  /// @param pieces  snapshot_pieces() of the same networks and worker; memory outlives this
  SnapshotTaker(Setup setup, checkpoint::SnapshotMemory& memory);

  /// `range` of a network, whole blocks of one own slice in ascending order, has the values of
  /// `step` (steps done). Lane thread.
  /// @param updates  of the network, counted
  /// @throws DivergedError where one is not finite: what is poisoned must not become the newest.
  void copy(std::size_t network, comm::ElementRange range, std::int64_t step,
            std::int64_t updates);
  /// All at once. @pre no exchange is under way, and the lane has nothing to copy. @throws as copy
  void copy_all(std::int64_t step);

  /// Whether this worker owns nothing that `copy` could be called with.
  [[nodiscard]] bool is_empty() const { return total_ == 0; }
  /// The newest whole snapshot; -1: none yet. Any thread.
  [[nodiscard]] std::int64_t newest() const { return newest_.load(std::memory_order_acquire); }
  /// What taking the last one cost its thread.
  [[nodiscard]] double seconds() const { return seconds_.load(std::memory_order_relaxed); }
  /// What is copied for one.
  [[nodiscard]] std::size_t bytes() const { return memory_.data_bytes(); }

 private:
  void begin(std::int64_t step);
  void copy_piece(std::size_t index, comm::ElementRange range);
  void finish_if_whole();

  Setup setup_;
  checkpoint::SnapshotMemory& memory_;
  std::vector<OwnedPiece> pieces_;
  std::size_t total_ = 0;           // elements of a snapshot
  std::vector<std::int64_t> updates_;  // by network

  std::int64_t step_ = -1;  // of the snapshot that was begun last
  bool has_room_ = false;
  std::size_t copied_ = 0;
  double spent_ = 0.0;
  std::atomic<std::int64_t> newest_ = -1;
  std::atomic<double> seconds_ = 0.0;
};

/// What a worker's snapshots consist of: its owned_pieces, and on the last worker, which owns a part
/// of every bucket, the counts of updates.
[[nodiscard]] std::vector<checkpoint::SnapshotPiece> snapshot_pieces(
    std::span<NetworkState* const> networks, int worker, int num_workers);

}  // namespace gangway::worker
