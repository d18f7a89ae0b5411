// SPDX-License-Identifier: MIT
// What a worker and the coordinator say about state: what there is to begin with, what is to be
// loaded, what was saved. Plain values, a part of worker/link/coordinator_link.hpp; a fake serves
// in tests.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gangway::worker {

/// A part of a snapshot that lies on this host.
struct FoundPartInfo {
  std::int64_t step = 0;
  std::int64_t incarnation = 0;  ///< start of the run
  std::int64_t taken_in = 0;     ///< epoch
  int worker = 0;                ///< of num_workers, when it was taken
  int num_workers = 1;
};

/// A whole snapshot, wherever its parts lie.
struct SnapshotInfo {
  std::int64_t incarnation = 0;  ///< start of the run that took it
  std::int64_t taken_in = 0;     ///< epoch
  /// By the worker that took the part: the workers of this start, ascending, on whose host it or a
  /// copy of it lies. Never empty.
  std::vector<std::vector<int>> holders;
};

/// The state to begin with: neither checkpoint nor snapshot, then a new one.
struct BeginInfo {
  std::int64_t attempt = 0;  ///< which of the coordinator's proposals
  std::int64_t step = 0;     ///< steps done in that state
  std::string checkpoint;    ///< absolute path; its structure was verified
  std::optional<SnapshotInfo> snapshot;

  [[nodiscard]] bool is_new() const { return checkpoint.empty() && !snapshot; }
};

/// Why a state could not be loaded.
struct LoadFailure {
  static constexpr int kCheckpoint = -1;
  std::string reason;      ///< one line
  int part = kCheckpoint;  ///< of the snapshot
  int holder = 0;          ///< the worker on whose host it is damaged
};

/// One worker's durable file of a checkpoint, or why there is none.
struct CheckpointPartInfo {
  std::int64_t step = 0;
  std::string file;  ///< name inside the checkpoint directory
  std::uint64_t bytes = 0;
  std::string xxh3_128;    ///< 32 hexadecimal digits, of the whole file
  std::string error;       ///< not empty: the save failed, and why
  bool under_way = false;  ///< the disk takes it: of the rest only the step is known
  double seconds = 0.0;    ///< from the whole snapshot to the file on the disk
};

class StateLink {
 public:
  virtual ~StateLink() = default;

  /// Tells what lies on this host, and waits until the coordinator, who has heard all, says what to
  /// begin with. Compute thread.
  /// @throws StoppedByCoordinator; CommError when `limit` passes.
  [[nodiscard]] virtual BeginInfo ask_begin(const std::vector<FoundPartInfo>& found,
                                            std::chrono::milliseconds limit) = 0;

  /// The last answer could not be loaded by all: what instead? Compute thread.
  /// @param failure  nothing: others failed, and say why
  /// @throws as ask_begin
  [[nodiscard]] virtual BeginInfo ask_another(const std::optional<LoadFailure>& failure,
                                              std::chrono::milliseconds limit) = 0;

  /// So much of what this worker has to read is there. Never waits. Compute thread.
  virtual void loading(std::uint64_t bytes, std::uint64_t total) = 0;

  /// This worker's file of a checkpoint is durable, or failed. Never waits. Any thread.
  virtual void checkpoint_part(const CheckpointPartInfo& part) = 0;
};

}  // namespace gangway::worker
