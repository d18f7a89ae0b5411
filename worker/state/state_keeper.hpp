// SPDX-License-Identifier: MIT
// A worker's state outside of its training: loaded at the start, copied into snapshots while it
// changes, written to disk behind that (docs/snapshots.md). Compute thread, but for what the lane
// and the writer's thread do inside.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/shared_segment.hpp"
#include "comm/lane.hpp"
#include "comm/transport/transport.hpp"
#include "job/spec.hpp"
#include "worker/link/state_link.hpp"
#include "worker/state/buddy_copies.hpp"
#include "worker/state/checkpoint_writer.hpp"
#include "worker/state/network_state.hpp"
#include "worker/state/snapshot_loader.hpp"
#include "worker/state/snapshot_taker.hpp"

namespace gangway::worker {

class StateKeeper {
 public:
  struct Setup {
    const JobSpec& job;
    std::filesystem::path run_directory;
    StateLink& link;
    std::vector<NetworkState*> networks;  ///< generator, discriminator
    comm::Transport& transport;
    comm::Lane& lane;
    int workers_on_machine = 1;
    std::vector<int> hosts = {};  ///< by worker: equal where memory is shared; empty: one host
    /// Where snapshots lie if they fit; else in the run directory.
    std::filesystem::path shared_memory = kSharedMemoryFolder;
    /// One line for the log; any thread.
    std::function<void(const std::string&)> say = [](const std::string&) {};
    std::chrono::milliseconds timeout{60'000};
    std::string run_id = {};       ///< run/run_start.hpp, as the next
    std::int64_t incarnation = 0;  ///< this start of the run
  };
  /// Loads what the coordinator chooses, and reserves the memory of the snapshots.
  /// @throws CheckpointError; EnvironmentError where there is no room; CommError;
  /// StoppedByCoordinator
  explicit StateKeeper(Setup setup);
  ~StateKeeper();
  StateKeeper(const StateKeeper&) = delete;
  StateKeeper& operator=(const StateKeeper&) = delete;

  /// Where its snapshots lie.
  [[nodiscard]] const SnapshotShelf& shelf() const { return shelf_; }
  /// What was loaded.
  [[nodiscard]] const BeginInfo& begin() const { return begin_; }

  /// For the updates, on the lane.
  [[nodiscard]] SnapshotTaker& taker() { return *taker_; }
  /// The snapshot of `step`, which is still to be taken, is to be copied to the buddy, if there is
  /// one.
  void copy_behind(std::int64_t step);
  /// The snapshot of `step`, which is still to be taken, is to be written into `directory`.
  void write_behind(std::int64_t step, const std::string& directory);
  /// Takes the snapshot of `step` at once, for which computing stands still since `since`. @pre no
  /// exchange is under way, and the networks' arenas hold that step. @throws DivergedError
  void take_now(std::int64_t step,
                std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now());
  /// All workers have the snapshot of `step`; -1: of none yet.
  void protect(std::int64_t step);
  /// Waits until what was wanted is on the disk. @throws EnvironmentError when that takes nothing
  /// for kTimeoutsToWrite timeouts.
  void finish_writing();
  /// The run fails, and this host's memory may be gone before somebody goes on: copies to the run
  /// directory what all are known to have, and what is newer (all may have that by now), as far as
  /// it lies on this host. Any thread.
  /// @param progress  called whenever more of it is on the disk
  void keep_on_disk(const std::function<void()>& progress) const noexcept;
  /// No snapshot comes any more; all workers call it. @throws CommError
  void finish_copying();
  [[nodiscard]] const BuddyCopies* copies() const { return copies_ ? &*copies_ : nullptr; }

 private:
  /// Asks what to begin with until all workers could load it.
  void load();
  [[nodiscard]] StateLoad load_setup();
  /// Memory for the own snapshots, and for copies of those of others.
  void reserve();
  void load_initial() const;
  /// Waits until the lane has copied what it has put off.
  void finish_taking();
  void protect_all(std::int64_t step);
  /// Removes the run's snapshots whose processes are gone.
  void remove_old() const;

  Setup setup_;
  SnapshotShelf shelf_;
  BeginInfo begin_;
  std::optional<checkpoint::SnapshotMemory> memory_;
  std::optional<SnapshotTaker> taker_;
  std::optional<CheckpointWriter> writer_;
  std::optional<BuddyCopies> copies_;
  std::atomic<std::int64_t> protected_ = -1;
  bool has_old_ = false;  // dead slots of an earlier start may still lie about
};

}  // namespace gangway::worker
