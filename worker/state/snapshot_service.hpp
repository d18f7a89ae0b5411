// SPDX-License-Identifier: MIT
// Saves a worker's state during training: copies it into snapshots, from there to a buddy on
// another host, and to disk (docs/snapshots.md). Compute thread; the lane and the writer's thread
// work inside.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "worker/buddies/atomic_step.hpp"
#include "worker/buddies/buddy_copies.hpp"
#include "worker/state/begin_state.hpp"
#include "worker/state/checkpoint_writer.hpp"
#include "worker/state/snapshot_taker.hpp"

namespace gangway::worker {

class SnapshotService {
 public:
  /// Reserves the memory of the snapshots. @throws EnvironmentError where there is no room.
  SnapshotService(const StateSetup& setup, const BegunState& begun);
  ~SnapshotService();
  SnapshotService(const SnapshotService&) = delete;
  SnapshotService& operator=(const SnapshotService&) = delete;

  /// Returns the taker that watches the updates on the lane.
  [[nodiscard]] SnapshotTaker& taker() { return taker_; }
  /// Requests a copy of the snapshot of `step`, not taken yet, to the buddy, if there is one.
  void copy_behind(std::int64_t step);
  /// Requests a file of the snapshot of `step`, not taken yet, in `directory`.
  void write_behind(std::int64_t step, const std::string& directory);
  /// Takes the snapshot of `step` now. @param since  when computing stopped for it
  /// @pre no exchange is under way, and the networks' arenas hold that step.
  void take_now(std::int64_t step,
                std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now());
  /// Protects the snapshot of `step`, which all workers have.
  void protect(std::int64_t step);
  /// Waits until all requested files are written. @throws EnvironmentError if the disk takes
  /// nothing for kTimeoutsToWrite timeouts; DivergedError if a snapshot was not taken because a
  /// value was not finite.
  void finish_writing();
  /// Call after training diverged. Waits for files of complete snapshots, which hold healthy steps,
  /// so that a slow disk rarely loses one. Waits some seconds, at most half of the timeout after
  /// which other workers blame this one.
  void finish_healthy_files() noexcept;
  /// Copies snapshots on this host to the run directory after a failure, because its memory may be
  /// gone before a restart. Copies the newest that all workers are known to have, and newer ones.
  /// Any thread.
  /// @param progress  called whenever more of it is on the disk
  void keep_on_disk(const std::function<void()>& progress) const noexcept;
  /// Ends the buddy copies; all workers call it at the end. @throws CommError, DivergedError
  void finish_copying();
  [[nodiscard]] const BuddyCopies* copies() const { return copies_ ? &*copies_ : nullptr; }

 private:
  struct Room;
  [[nodiscard]] static Room find_room(const StateSetup& setup, const BegunState& begun);
  SnapshotService(StateSetup setup, const BegunState& begun, Room room);

  void snapshot_ended(std::int64_t step, bool taken);
  /// Waits until the lane has copied all deferred slices. @throws DivergedError
  void finish_taking();
  void protect_all(std::int64_t step);

  StateSetup setup_;
  SnapshotStore store_;
  checkpoint::SnapshotMemory memory_;
  std::optional<BuddyCopies> copies_;  // nothing: no buddy
  CheckpointWriter writer_;
  SnapshotTaker taker_;
  AtomicStep protected_;
  /// Step at which snapshots of earlier starts are removed; nothing: none is left.
  std::optional<std::int64_t> old_until_;
};

}  // namespace gangway::worker
