// SPDX-License-Identifier: MIT
#include "coordinator/io/checkpoint_commit.hpp"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "checkpoint/store/commit.hpp"
#include "checkpoint/store/retention.hpp"
#include "checkpoint/store/scan.hpp"

namespace gangway::coordinator {
namespace {

template <typename Result>
void remove_surplus(const std::filesystem::path& checkpoints,
                    const checkpoint::RetentionPolicy& retention, Result& result) {
  try {
    result.removed = checkpoint::remove_old(checkpoints, retention);
  } catch (const std::exception& error) {
    // The new checkpoint is valid; a failed removal only leaves more files on the disk.
    result.warnings.push_back(fmt::format("old checkpoint stays: {}", error.what()));
  }
}

}  // namespace

CommitResult carry_out(CommitWork work) {
  CommitResult result;
  const auto start = std::chrono::steady_clock::now();
  try {
    result.path = checkpoint::commit_checkpoint(
        work.temporary, std::move(work.manifest),
        [&](std::string line) { result.warnings.push_back(std::move(line)); });
  } catch (const std::exception& error) {
    result.error = error.what();
    return result;
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  remove_surplus(result.path.parent_path(), work.retention, result);
  return result;
}

ScoreResult carry_out(const ScoreWork& work) {
  ScoreResult result;
  try {
    const auto scores =
        checkpoint::read_scores(work.checkpoints, checkpoint::list_checkpoints(work.checkpoints));
    if (const auto found = scores.find(work.step); found != scores.end()) {
      result.score = found->second;
      result.is_best = checkpoint::best_steps(scores, 1).contains(work.step);
    }
  } catch (const std::exception& error) {
    result.warnings.push_back(
        fmt::format("the score of step {} cannot be read: {}", work.step, error.what()));
  }
  remove_surplus(work.checkpoints, work.retention, result);
  return result;
}

KeepResult carry_out(const checkpoint::KeepSnapshots& keep) {
  KeepResult result{.from_step = keep.from_step};
  try {
    result.copied = checkpoint::copy_snapshots(keep);
  } catch (const std::exception& error) {
    result.error = error.what();
  }
  return result;
}

}  // namespace gangway::coordinator
