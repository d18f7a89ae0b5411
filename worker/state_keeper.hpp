// SPDX-License-Identifier: MIT
// A worker's state outside of its training: loaded at the start, copied into snapshots while it
// changes, written to disk behind that (docs/snapshots.md). Compute thread, but for what the lane
// and the writer's thread do inside.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "comm/lane.hpp"
#include "comm/transport.hpp"
#include "job/shared_segment.hpp"
#include "job/spec.hpp"
#include "worker/checkpoint_writer.hpp"
#include "worker/coordinator_link.hpp"
#include "worker/network_state.hpp"
#include "worker/snapshot_taker.hpp"

namespace gangway::worker {

class StateKeeper {
 public:
  struct Setup {
    const JobSpec& job;
    const WelcomeInfo& welcome;
    std::vector<NetworkState*> networks;  ///< generator, discriminator
    comm::Transport& transport;
    comm::Lane& lane;
    int workers_on_machine = 1;
    /// Where snapshots lie if they fit; else in the run directory.
    std::filesystem::path shared_memory = kSharedMemoryFolder;
    std::function<void(const CheckpointPartInfo&)> report;    ///< any thread
    std::function<void(const std::string&)> say = {};          ///< one line for the log
    std::chrono::milliseconds timeout{60'000};
  };
  /// Loads what the Welcome names, and reserves the memory of the snapshots.
  /// @throws CheckpointError; EnvironmentError where there is no room; CommError
  explicit StateKeeper(Setup setup);

  /// For the updates, on the lane.
  [[nodiscard]] SnapshotTaker& taker() { return *taker_; }
  /// The snapshot of `step`, which is still to be taken, is to be written into `directory`.
  void write_behind(std::int64_t step, const std::string& directory);
  /// Takes the snapshot of `step` at once. @pre no exchange is under way, and the networks' arenas
  /// hold that step. @throws DivergedError
  void take_now(std::int64_t step);
  /// All workers have the snapshot of `step`; -1: of none yet.
  void protect(std::int64_t step);
  /// Waits until what was wanted is on the disk. @throws EnvironmentError when that takes nothing
  /// for kTimeoutsToWrite timeouts.
  void finish_writing();

 private:
  void load();
  /// Removes the run's snapshots whose processes are gone.
  void remove_old() const;

  Setup setup_;
  std::optional<checkpoint::SnapshotMemory> memory_;
  std::optional<SnapshotTaker> taker_;
  std::optional<CheckpointWriter> writer_;
  bool has_old_layout_ = false;  // dead slots of an earlier start may still lie about
};

}  // namespace gangway::worker
