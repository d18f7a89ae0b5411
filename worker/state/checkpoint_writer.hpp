// SPDX-License-Identifier: MIT
// Writes snapshots to disk while training continues. Its thread waits for the snapshot of a wanted
// step, writes and syncs this worker's file, and reports it. Training waits for it only at its end.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "base/guarded.hpp"
#include "checkpoint/format/worker_file.hpp"
#include "checkpoint/snapshots/snapshot_memory.hpp"
#include "run/messages/messages.hpp"

namespace gangway::worker {

struct CheckpointWriterSetup {
  checkpoint::FileIdentity identity;  ///< without the step
  checkpoint::SnapshotMemory& memory;
  /// Reports a finished file, and every second that a file is progressing. Writer's thread.
  std::function<void(const messages::CheckpointPart&)> report;
};

class CheckpointWriter {
 public:
  explicit CheckpointWriter(CheckpointWriterSetup setup);
  /// Ends after the current file; drops files not begun.
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  /// Requests a file of the snapshot of `step`, not taken yet, in `directory`. Compute thread.
  void want(std::int64_t step, const std::string& directory);
  /// Reports that the snapshot of `step` is complete, or that there was no room. Called at once by
  /// the thread that took it, before a later snapshot can overwrite it.
  void snapshot_ended(std::int64_t step, bool taken);
  /// Waits until all wanted files are written and reported; gives up when the disk has taken
  /// nothing for `patience`. Compute thread.
  /// @return whether all are written
  [[nodiscard]] bool wait_idle(std::chrono::milliseconds patience);
  /// Waits until the files of complete snapshots are written, at most `most`. Compute thread.
  void wait_taken(std::chrono::milliseconds most);

 private:
  struct Wanted {
    std::int64_t step = 0;
    std::string directory;
    std::chrono::steady_clock::time_point whole{};  ///< time at which the snapshot was complete
  };
  void run(const std::stop_token& stop);
  [[nodiscard]] messages::CheckpointPart write(const Wanted& wanted,
                                               const checkpoint::PinnedSnapshot& snapshot);
  /// Notes that the file of `step` progresses.
  void got_on(std::int64_t step);

  CheckpointWriterSetup setup_;
  Mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Wanted> wanted_ GANGWAY_GUARDED_BY(mutex_);  // not taken yet
  std::deque<std::pair<Wanted, checkpoint::PinnedSnapshot>> ready_ GANGWAY_GUARDED_BY(mutex_);
  bool is_writing_ GANGWAY_GUARDED_BY(mutex_) = false;
  // Times of the last write or begin, and of its last report.
  std::chrono::steady_clock::time_point progress_at_ GANGWAY_GUARDED_BY(mutex_){};
  std::chrono::steady_clock::time_point reported_at_ GANGWAY_GUARDED_BY(mutex_){};
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace gangway::worker
