// SPDX-License-Identifier: MIT
// Negotiates the state that the workers of one epoch begin with: collects their hosts' snapshots,
// proposes a state, and proposes another if it cannot be loaded. Pure; owned by RunCore. The
// choice itself reads the disk: coordinator/resume/resume_choice.hpp.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "coordinator/resume/snapshot_inventory.hpp"
#include "run/messages/messages.hpp"
#include "run/snapshot_id.hpp"

namespace gangway::coordinator {

/// A state to begin with; without checkpoint and snapshot, a new state.
struct ResumePoint {
  std::int64_t step = 0;        ///< steps done in it
  std::int64_t saved_step = 0;  ///< of the newest valid checkpoint; `step` if none exists
  std::string checkpoint;       ///< absolute path
  std::optional<WholeSnapshot> snapshot;
  bool keeps_newer = false;      ///< messages::Begin::keeps_newer
  std::int64_t first_tick = 1;   ///< index of the next tick
  double earlier_seconds = 0.0;  ///< of earlier starts of the run
  std::string line;              ///< for the user, after loading; may be empty
};

class ResumeProtocol {
 public:
  explicit ResumeProtocol(int num_workers) : num_workers_(num_workers) {}

  /// Adds a worker's snapshots. @return whether all workers have reported: a state may be chosen
  [[nodiscard]] bool add(WorkerIndex worker, const messages::Inventory& inventory);
  /// Returns the proposal, to be sent to all workers.
  [[nodiscard]] messages::Begin propose(const ResumePoint& point);
  /// Rejects a damaged part; snapshots on its host are not proposed again.
  /// @param mates  workers on the host of unloadable.holder, itself included
  /// @return whether to choose another state; false if that has happened already
  [[nodiscard]] bool refuse(const messages::Unloadable& unloadable,
                            const std::vector<WorkerIndex>& mates);

  /// Records loading progress. @return a line for the user, every two seconds
  [[nodiscard]] std::optional<std::string> loading(WorkerIndex worker,
                                                   const messages::Loading& loading, TimePoint now);

  [[nodiscard]] const SnapshotInventory& inventory() const { return inventory_; }

 private:
  int num_workers_;
  std::set<WorkerIndex> reporters_;
  SnapshotInventory inventory_;
  std::int64_t attempt_ = 0;
  std::vector<std::optional<SnapshotId>> proposed_;  // by attempt, from 1
  std::map<WorkerIndex, messages::Loading> loading_;
  std::optional<TimePoint> loading_since_;
  TimePoint last_line_at_{};
};

}  // namespace gangway::coordinator
