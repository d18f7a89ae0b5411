// SPDX-License-Identifier: MIT
// A worker's state outside of its training: copied into snapshots while it changes, to a buddy on
// another host behind that, and written to disk (docs/snapshots.md). Compute thread, but for what
// the lane and the writer's thread do inside.
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

  /// For the updates, on the lane.
  [[nodiscard]] SnapshotTaker& taker() { return taker_; }
  /// The snapshot of `step`, which is still to be taken, is to be copied to the buddy, if there is
  /// one.
  void copy_behind(std::int64_t step);
  /// The snapshot of `step`, which is still to be taken, is to be written into `directory`.
  void write_behind(std::int64_t step, const std::string& directory);
  /// Takes the snapshot of `step` at once, for which computing stands still since `since`. @pre no
  /// exchange is under way, and the networks' arenas hold that step.
  void take_now(std::int64_t step,
                std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now());
  /// All workers have the snapshot of `step`.
  void protect(std::int64_t step);
  /// Waits until what was wanted is on the disk. @throws EnvironmentError when that takes nothing
  /// for kTimeoutsToWrite timeouts; DivergedError where one of those could not be taken, for a
  /// value was not finite.
  void finish_writing();
  /// Training diverged: waits some seconds for the files of snapshots that are whole, which are of
  /// healthy steps, so that which of them there are seldom depends on how fast a disk is. No longer
  /// than half of what others wait for this worker before they accuse it.
  void finish_healthy_files() noexcept;
  /// The run fails, and this host's memory may be gone before somebody goes on: copies to the run
  /// directory what all are known to have, and what is newer (all may have that by now), as far as
  /// it lies on this host. Any thread.
  /// @param progress  called whenever more of it is on the disk
  void keep_on_disk(const std::function<void()>& progress) const noexcept;
  /// No snapshot comes any more; all workers call it. @throws CommError, DivergedError
  void finish_copying();
  [[nodiscard]] const BuddyCopies* copies() const { return copies_ ? &*copies_ : nullptr; }

 private:
  struct Room;
  [[nodiscard]] static Room find_room(const StateSetup& setup, const BegunState& begun);
  SnapshotService(StateSetup setup, const BegunState& begun, Room room);

  void snapshot_ended(std::int64_t step, bool taken);
  /// Waits until the lane has copied what it has put off. @throws DivergedError
  void finish_taking();
  void protect_all(std::int64_t step);
  /// Removes the run's snapshots whose processes are gone.
  void remove_old() const;

  StateSetup setup_;
  SnapshotShelf shelf_;
  checkpoint::SnapshotMemory memory_;
  std::optional<BuddyCopies> copies_;  // nothing: there is no buddy
  CheckpointWriter writer_;
  SnapshotTaker taker_;
  AtomicStep protected_;
  /// Once there is a snapshot of this step, dead slots of earlier starts go; nothing: none is left.
  std::optional<std::int64_t> old_until_;
};

}  // namespace gangway::worker
