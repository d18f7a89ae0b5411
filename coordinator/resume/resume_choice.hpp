// SPDX-License-Identifier: MIT
// Chooses the state that a start begins with: the newest snapshot in the hosts' memory, else the
// newest valid checkpoint, else a new state. Chooses again if workers find it damaged while
// loading. Called by the coordinator's event loop.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/resume/resume_protocol.hpp"
#include "coordinator/resume/snapshot_inventory.hpp"
#include "coordinator/resume/start.hpp"

namespace gangway::coordinator {

class ResumeChoice {
 public:
  /// Returns the steps of the checkpoints that still need a score (ScoreWatch).
  using UnscoredSteps = std::function<std::vector<std::int64_t>(std::int64_t step)>;
  /// @param run  after find_start(); refuse_checkpoint() changes its `resume`
  /// @param tell  receives reports of damage. All arguments must outlive this object.
  ResumeChoice(StartedRun& run, const StartOptions& options, Tell tell, UnscoredSteps unscored)
      : run_(run), options_(options), tell_(std::move(tell)), unscored_(std::move(unscored)) {}

  /// @throws CheckpointError if no usable state is left
  [[nodiscard]] ResumePoint choose(const SnapshotInventory& inventory);
  /// Rejects the last choice as damaged. @throws CheckpointError if the user named it
  void refuse_checkpoint(const std::string& reason);

 private:
  /// Whether every checkpoint that later decisions need exists. A snapshot may lie after a
  /// checkpoint that was to be scored and was never committed.
  [[nodiscard]] bool is_scorable(std::int64_t step) const;
  void prepare_trace(std::int64_t step);

  StartedRun& run_;
  const StartOptions& options_;
  Tell tell_;
  UnscoredSteps unscored_;
};

}  // namespace gangway::coordinator
