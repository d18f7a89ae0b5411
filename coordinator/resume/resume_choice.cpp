// SPDX-License-Identifier: MIT
#include "coordinator/resume/resume_choice.hpp"

#include <algorithm>
#include <system_error>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "job/decisions.hpp"

namespace gangway::coordinator {

namespace fs = std::filesystem;

ResumePoint ResumeChoice::choose(const SnapshotInventory& inventory) {
  ResumePoint point;
  if (run_.resume) {
    point.step = run_.resume->step;
    point.saved_step = run_.resume->step;
  }
  const std::int64_t saved = run_.resume ? run_.resume->step : -1;
  if (options_.is_automatic() || options_.is_again) {
    const auto is_on_way = [this](const SnapshotId& id) {
      return is_on_the_way(id.step, id.incarnation, run_.decisions) && is_scorable(id.step);
    };
    point.snapshot = inventory.newest_after(saved, is_on_way);
    const bool waits_for_hosts =
        options_.is_again && !run_.restarts.empty() && !run_.restarts.back().left_out.empty();
    const auto missing = inventory.missing_after(point.snapshot ? point.snapshot->id.step : saved);
    point.keeps_newer = waits_for_hosts && missing && is_on_way(missing->id);
    if (missing && is_on_way(missing->id) && (!point.snapshot || point.keeps_newer)) {
      tell_(
          fmt::format("note  a newer snapshot, of step {}, is incomplete: no host of this start "
                      "has the part of rank {} of {}{}",
                      missing->id.step, missing->part + 1, missing->id.num_workers,
                      point.keeps_newer
                          ? "; its other parts stay until training passes it, for hosts that return"
                          : ""));
    }
  }
  if (point.snapshot) {
    point.step = point.snapshot->id.step;
    point.line = fmt::format(
        "resume snapshot of step {} that the run left: nothing since then is lost", point.step);
  } else if (run_.resume) {
    point.checkpoint = run_.resume->path.string();
    point.line = fmt::format(
        "resume {} (step {}): weights, EMA, optimisers, buffers, data position; {} -> {} workers",
        run_.resume->path.filename().string(), run_.resume->step,
        run_.resume->manifest.files.size(), run_.num_workers);
  } else if (!run_.begun_with.empty()) {
    throw CheckpointError(fmt::format(
        "{} was {}, and has no valid checkpoint since: --resume with that path continues",
        run_.directory.string(), run_.begun_with));
  } else if (run_.has_damaged_checkpoints) {
    throw CheckpointError(fmt::format(
        "none of the checkpoints in {} is valid: look with 'gangway checkpoints verify', or start "
        "afresh with --resume never",
        (run_.directory / kCheckpointsFolder).string()));
  }
  if (point.step > run_.end_step) {
    tell_(
        fmt::format("note  the run is at step {} and the job ends at {}: the state is saved, "
                    "nothing is trained; raise training.kimg to train on",
                    point.step, run_.end_step));
  }
  prepare_trace(point.step);
  return point;
}

bool ResumeChoice::is_scorable(std::int64_t step) const {
  const std::vector<std::int64_t> unscored =
      unscored_ ? unscored_(step) : std::vector<std::int64_t>();
  if (unscored.empty()) {
    return true;
  }
  const auto checkpoints = checkpoint::list_checkpoints(run_.directory / kCheckpointsFolder);
  return std::ranges::all_of(unscored, [&](std::int64_t needed) {
    return std::ranges::any_of(checkpoints, [needed](const checkpoint::CheckpointEntry& entry) {
      return entry.step == needed && entry.status == checkpoint::CheckpointStatus::kComplete;
    });
  });
}

void ResumeChoice::refuse_checkpoint(const std::string& reason) {
  if (!run_.resume || !options_.is_automatic()) {
    throw CheckpointError(reason);
  }
  run_.has_damaged_checkpoints = true;
  run_.resume = checkpoint::newest_valid(run_.directory / kCheckpointsFolder, tell_,
                                         checkpoint::Depth::kStructure, run_.resume->step);
  keep_to_branch(run_);
  tell_(run_.resume ? fmt::format("warn  {}; resuming from the older {}", reason,
                                  run_.resume->path.filename().string())
                    : fmt::format("warn  {}; no older checkpoint is valid", reason));
}

/// Removes an earlier trace's files, unless the steps to be traced are over.
void ResumeChoice::prepare_trace(std::int64_t step) {
  TraceSteps& trace = run_.trace;
  if (trace.empty()) {
    return;
  }
  if (trace.end <= step || trace.begin >= run_.spec.total_steps()) {
    tell_(fmt::format("warn  --trace {}:{}: nothing is traced: the run goes from step {} to {}",
                      trace.begin, trace.end, step, run_.spec.total_steps()));
    trace = {};
    return;
  }
  std::error_code ignored;  // remaining files are overwritten
  fs::remove_all(run_.directory / kTraceFolder, ignored);
}

}  // namespace gangway::coordinator
