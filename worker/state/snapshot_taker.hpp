// SPDX-License-Identifier: MIT
// Copies this worker's part of the state into its snapshot memory while training goes on. The
// update that makes a slice the state of the wanted step only puts it on a list: weights are on
// their way to those who wait for them first, and the lane copies behind the exchanges, while
// compute is at the next pass. The next update of a network copies what is still on the list before
// it begins.
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

class SnapshotTaker final : public comm::Background {
 public:
  struct Setup {
    std::vector<NetworkState*> networks;  ///< in the job's order
    int worker = 0;
    int num_workers = 1;
    std::int64_t incarnation = 0;  ///< of the run
    std::int64_t epoch = 0;
    /// Of a snapshot that is whole, or for which there was no room. The thread that copied.
    std::function<void(std::int64_t step, bool taken)> on_end = {};
  };
  /// @param pieces  snapshot_pieces() of the same networks and worker; memory outlives this
  SnapshotTaker(Setup setup, checkpoint::SnapshotMemory& memory);

  /// To be shown all updates of a network whose arenas are updated in place. What it is shown are
  /// whole blocks of one own slice, in ascending order.
  [[nodiscard]] UpdateWatcher& watcher(NetworkId network) { return watchers_[network]; }

  // Lane thread, these three. A snapshot in which a value is not finite is given up: what is
  // poisoned must not become the newest.

  /// Copies some of what was put off.
  bool advance(bool is_quiet) override;
  /// Copies all of it: somebody waits.
  void copy_rest();
  /// All at once. @pre no exchange is under way
  /// @param since  when computing began to stand still for it
  void copy_all(std::int64_t step, std::chrono::steady_clock::time_point since);

  /// @throws DivergedError where a snapshot of a step before `step` had a value that was not
  /// finite, dated by the step after it: whatever the layout, that one's losses show it, unless
  /// they never do. Any thread.
  void require_finite_before(std::int64_t step) const;

  /// Whether this worker owns nothing that it could be shown: that is ever updated.
  [[nodiscard]] bool is_empty() const { return !is_shown_some_; }
  /// The newest whole snapshot. Any thread.
  [[nodiscard]] std::optional<std::int64_t> newest() const { return newest_.get(); }
  /// For how long the lane copied the last one.
  [[nodiscard]] double seconds() const { return seconds_.load(std::memory_order_relaxed); }
  /// For how long of these an update waited.
  [[nodiscard]] double wait_seconds() const {
    return wait_seconds_.load(std::memory_order_relaxed);
  }
  /// What is copied for one.
  [[nodiscard]] std::size_t bytes() const { return memory_.data_bytes(); }

 private:
  /// Hands on what it sees, with the network's index.
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
  /// Elements of a network that are still to be copied, the first ones first.
  struct PutOff {
    std::size_t network;
    comm::ElementRange range;
  };

  /// `range` has the values of `step` (steps done) until its next update.
  /// @param counts  of the network's updates
  void put_off(std::size_t network, comm::ElementRange range, std::int64_t step,
               const comm::UpdateCounts& counts);
  /// What nobody updates has the values of any step.
  void put_off_frozen();
  /// `range` is about to be updated: copies what was put off up to there.
  void copy_before_update(std::size_t network, comm::ElementRange range);
  void begin(std::int64_t step);
  /// At most `most` elements of what was put off first. @pre there is something. @return seconds
  double copy_next(std::size_t most);
  void copy_range(std::size_t network, comm::ElementRange range);
  void copy_piece(std::size_t index, comm::ElementRange range);
  void give_up(const std::string& poison);
  void finish_if_whole();

  Setup setup_;
  checkpoint::SnapshotMemory& memory_;
  std::vector<OwnedPiece> pieces_;
  std::size_t total_ = 0;                   // elements of a snapshot
  bool is_shown_some_ = false;              // of them, updates
  std::vector<comm::UpdateCounts> counts_;  // by network
  PerNetwork<Watcher> watchers_;

  std::optional<std::int64_t> step_;  // of the snapshot that was begun last
  bool has_room_ = false;
  std::size_t copied_ = 0;
  std::vector<PutOff> put_off_;
  double spent_ = 0.0;   // on this snapshot
  double waited_ = 0.0;  // the part of it that an update waited for
  AtomicStep newest_;
  std::string poison_;   // the first value that was not finite; written once, before
  AtomicStep poisoned_;  // the step of its snapshot
  std::atomic<double> seconds_ = 0.0;
  std::atomic<double> wait_seconds_ = 0.0;
};

/// What a worker's snapshots consist of: its owned_pieces, and on the last worker of those that
/// hold a network, which owns a part of every bucket, the counts of its updates.
[[nodiscard]] std::vector<checkpoint::TensorStretch> snapshot_pieces(
    std::span<NetworkState* const> networks, int worker);

}  // namespace gangway::worker
