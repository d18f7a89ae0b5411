// SPDX-License-Identifier: MIT
// Copies this worker's part of the state to snapshot memory during training. An update only puts
// its slice on a list, because the weights must first reach waiting workers. The lane then copies
// after the exchanges, while the next pass computes. A network's next update first copies its
// slices still on the list. A snapshot with a value that is not finite is dropped.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/format/stored_tensor.hpp"
#include "checkpoint/snapshots/snapshot_memory.hpp"
#include "comm/lane.hpp"
#include "job/models/network_id.hpp"
#include "worker/buddies/atomic_step.hpp"
#include "worker/state/owned_state.hpp"
#include "worker/state/update_watcher.hpp"

namespace gangway::worker {

struct SnapshotTakerSetup {
  std::vector<NetworkState*> networks;  ///< in the job's order
  int worker = 0;
  int num_workers = 1;
  std::int64_t incarnation = 0;  ///< of the run
  std::int64_t epoch = 0;
  /// Reports a complete snapshot, or that there was no room. Called by the copying thread.
  std::function<void(std::int64_t step, bool taken)> on_end = {};
};

class SnapshotTaker final : public comm::Background {
 public:
  /// @param memory  for snapshot_pieces() of the same networks and worker; outlives this
  SnapshotTaker(SnapshotTakerSetup setup, checkpoint::SnapshotMemory& memory);

  /// Returns the watcher for all updates of a network whose arenas are updated in place. It must
  /// see whole blocks of one own slice, in ascending order.
  [[nodiscard]] UpdateWatcher& watcher(NetworkId network) { return watchers_[network]; }

  // Next three: lane thread. They drop a snapshot with a value that is not finite, so that it never
  // becomes the newest.

  /// Copies some deferred slices.
  bool advance(bool is_quiet) override;
  /// Copies all deferred slices, because another thread waits for them.
  void copy_rest();
  /// Copies the whole state now. @pre no exchange is under way
  /// @param since  when computing stopped for it
  void copy_all(std::int64_t step, std::chrono::steady_clock::time_point since);

  /// @throws DivergedError if a snapshot before `step` had a value that was not finite. Dated by
  /// the step after that snapshot, because that step's losses normally show the value first,
  /// on any layout. Any thread.
  void require_finite_before(std::int64_t step) const;

  /// Returns whether this worker owns no state that is ever updated.
  [[nodiscard]] bool is_empty() const { return !sees_updates_; }
  /// Returns the newest complete snapshot. Any thread.
  [[nodiscard]] std::optional<std::int64_t> newest() const { return newest_.get(); }
  /// Returns the seconds that the lane spent on the last snapshot.
  [[nodiscard]] double seconds() const { return seconds_.load(std::memory_order_relaxed); }
  /// Returns the part of these seconds for which an update waited.
  [[nodiscard]] double wait_seconds() const {
    return wait_seconds_.load(std::memory_order_relaxed);
  }
  /// Returns the bytes of one snapshot.
  [[nodiscard]] std::size_t bytes() const { return memory_.data_bytes(); }

 private:
  /// Forwards updates with the network's index.
  struct Watcher final : UpdateWatcher {
    Watcher(SnapshotTaker& taker, std::size_t network) : taker_(taker), network_(network) {}
    void before_update(const UpdateSlice& slice) override {
      taker_.copy_before_update(network_, slice.range);
    }
    void after_update(const UpdateSlice& slice, const UpdatePlan& plan) override {
      if (plan.snapshot_step) {
        taker_.put_off(network_, slice.range, *plan.snapshot_step, plan.counts);
      }
    }

   private:
    SnapshotTaker& taker_;
    std::size_t network_;
  };
  /// Elements of a network that are still to be copied, in order.
  struct DeferredCopy {
    std::size_t network;
    comm::ElementRange range;
  };

  /// Defers the copy of `range`, which has the values of `step` (steps done) until its next update.
  void put_off(std::size_t network, comm::ElementRange range, std::int64_t step,
               const comm::UpdateCounts& counts);
  /// Defers frozen networks, whose values are the same in every step.
  void put_off_frozen();
  /// Copies deferred slices up to `range`, which is about to be updated.
  void copy_before_update(std::size_t network, comm::ElementRange range);
  void begin(std::int64_t step);
  /// Copies at most `most` elements of the first deferred slice. @pre there is one. @return seconds
  double copy_next(std::size_t most);
  void copy_range(std::size_t network, comm::ElementRange range);
  void copy_piece(std::size_t index, comm::ElementRange range);
  void give_up(const std::string& poison);
  void finish_if_whole();

  SnapshotTakerSetup setup_;
  checkpoint::SnapshotMemory& memory_;
  std::vector<OwnedPiece> pieces_;
  std::size_t total_ = 0;                   // elements of a snapshot
  bool sees_updates_ = false;               // whether any of them is ever updated
  std::vector<comm::UpdateCounts> counts_;  // by network
  PerNetwork<Watcher> watchers_;

  std::optional<std::int64_t> step_;  // of the last begun snapshot
  bool has_room_ = false;
  std::size_t copied_ = 0;
  std::vector<DeferredCopy> deferred_copies_;
  double spent_ = 0.0;   // seconds on this snapshot
  double waited_ = 0.0;  // part of it for which an update waited
  AtomicStep newest_;
  std::string bad_value_;  // first value that was not finite; set before the next
  AtomicStep poisoned_;    // the step of its snapshot
  std::atomic<double> seconds_ = 0.0;
  std::atomic<double> wait_seconds_ = 0.0;
};

/// Returns the pieces of a worker's snapshots: its owned_pieces, and the counts of a network's
/// updates on its last holder, which owns a part of every bucket.
[[nodiscard]] std::vector<checkpoint::TensorStretch> snapshot_pieces(
    std::span<NetworkState* const> networks, int worker);

}  // namespace gangway::worker
