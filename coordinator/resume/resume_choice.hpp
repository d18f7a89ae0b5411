// SPDX-License-Identifier: MIT
// Chooses the state that a start begins with: the newest snapshot in the hosts' memory, else the
// newest valid checkpoint, else none; and the next best, where one turns out damaged while the
// workers load it. Called by the coordinator's event loop.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/resume/resume_talk.hpp"
#include "coordinator/resume/snapshot_inventory.hpp"
#include "coordinator/resume/start.hpp"

namespace gangway::coordinator {

class ResumeChoice {
 public:
  /// Steps of the checkpoints whose scores a start from a step still needs (ScoreWatch).
  using UnscoredSteps = std::function<std::vector<std::int64_t>(std::int64_t step)>;
  /// @param run  after find_start(); its `resume` changes where a checkpoint is refused
  /// @param tell  receives what is damaged. All outlive this.
  ResumeChoice(StartedRun& run, const StartOptions& options, Tell tell, UnscoredSteps unscored)
      : run_(run), options_(options), tell_(std::move(tell)), unscored_(std::move(unscored)) {}

  /// @throws CheckpointError where nothing is left that can be begun with
  [[nodiscard]] ResumePoint choose(const SnapshotInventory& inventory);
  /// The checkpoint chosen last is damaged. @throws CheckpointError where it was named by the user.
  void refuse_checkpoint(const std::string& reason);

 private:
  [[nodiscard]] bool is_automatic() const;
  /// Whether all that decisions behind `step` follow from is there: a snapshot may lie behind a
  /// checkpoint that was to be scored and was never committed.
  [[nodiscard]] bool is_scorable(std::int64_t step) const;
  void prepare_trace(std::int64_t step);

  StartedRun& run_;
  const StartOptions& options_;
  Tell tell_;
  UnscoredSteps unscored_;
};

}  // namespace gangway::coordinator
