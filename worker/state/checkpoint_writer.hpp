// SPDX-License-Identifier: MIT
// Writes snapshots to disk behind the training: a thread of its own that waits for the snapshot of
// a wanted step, writes and syncs this worker's file, and reports it. Training never waits for it,
// but at its end.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>

#include "base/guarded.hpp"
#include "checkpoint/format/worker_file.hpp"
#include "checkpoint/snapshots/snapshot_memory.hpp"
#include "run/messages/messages.hpp"

namespace gangway::worker {

class CheckpointWriter {
 public:
  struct Setup {
    checkpoint::FileIdentity identity;  ///< but for the step
    checkpoint::SnapshotMemory& memory;
    /// Also that one is under way, every second in which the disk takes something. Writer's thread.
    std::function<void(const messages::CheckpointPart&)> report;
  };
  explicit CheckpointWriter(Setup setup);
  /// Ends after the file in hand; what was not begun is dropped.
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  /// The snapshot of `step`, which is still to be taken, is to be written into `directory`. Compute
  /// thread.
  void want(std::int64_t step, const std::string& directory);
  /// The snapshot of `step` is whole, or there was no room for it. The thread that took it; right
  /// then, so that no later one can overwrite it.
  void snapshot_ended(std::int64_t step, bool taken);
  /// Waits until everything wanted is written and reported, however long that takes, unless the
  /// disk has taken nothing for `patience`. Compute thread.
  /// @return whether it is
  [[nodiscard]] bool wait_idle(std::chrono::milliseconds patience);
  /// Waits until that is whose snapshot is whole, at most so long in all. Compute thread.
  void wait_taken(std::chrono::milliseconds most);

 private:
  struct Wanted {
    std::int64_t step = 0;
    std::string directory;
    std::chrono::steady_clock::time_point whole{};  ///< when the snapshot was
  };
  void run(const std::stop_token& stop);
  [[nodiscard]] messages::CheckpointPart write(const Wanted& wanted,
                                               const checkpoint::PinnedSnapshot& snapshot);
  /// The disk takes something of the file of `step`.
  void got_on(std::int64_t step);

  Setup setup_;
  Mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Wanted> wanted_ GANGWAY_GUARDED_BY(mutex_);  // whose snapshot is not there yet
  std::deque<std::pair<Wanted, checkpoint::PinnedSnapshot>> ready_ GANGWAY_GUARDED_BY(mutex_);
  bool is_writing_ GANGWAY_GUARDED_BY(mutex_) = false;
  // When something was last written or begun, and when that was last reported.
  std::chrono::steady_clock::time_point got_on_ GANGWAY_GUARDED_BY(mutex_){};
  std::chrono::steady_clock::time_point told_ GANGWAY_GUARDED_BY(mutex_){};
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace gangway::worker
