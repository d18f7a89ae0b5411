// SPDX-License-Identifier: MIT
#include "coordinator/core/decide.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>

#include <fmt/format.h>

#include "coordinator/steering/resize.hpp"
#include "coordinator/trouble/rollback.hpp"

namespace gangway::coordinator {
namespace {

/// Longest wait for reports of earlier steps; they are under way unless a worker has died.
constexpr std::chrono::seconds kReportPatience{2};
/// Longest wait for the disk to complete a checkpoint from before the trouble: its state is healthy
/// and already in memory.
constexpr std::chrono::seconds kHealthySavePatience{10};

/// If a replacement host cannot run the job, a later start may do without that host.
RunEnd failed(const View& view, const Fault& fault) {
  const bool is_of_a_host =
      view.is_restart && !view.has_begun && fault.rank != Rank() &&
      (fault.code == ExitCode::kUsage || fault.code == ExitCode::kEnvironment);
  return ended_by(is_of_a_host ? ExitCode::kWorkerLost : fault.code, fault.reason, fault.rank);
}

/// Rolls back, if the job allows one more rollback; else ends the job.
Verdict answer(const View& view, const HeldTrouble& held) {
  const std::string& what = held.trouble.what;
  auto rollback = rollback_of(view.divergence, view.decisions, held.trouble, view.start);
  if (!rollback) {
    const std::string story = rollback_story(view.divergence, view.decisions);
    return {.act = Verdict::Act::kEnd,
            .end = ended_by(ExitCode::kDiverged,
                            story.empty() ? what : fmt::format("{}; {}", what, story), held.rank)};
  }
  const std::string back =
      describe_rollback(view.divergence, *rollback, num_rollbacks(view.decisions) + 1);
  Verdict verdict{.act = Verdict::Act::kRollBack,
                  .end = ended_by(ExitCode::kDiverged,
                                  fmt::format("{}; the job {}: `gangway run` starts it again by "
                                              "itself, after a bare mpirun {}",
                                              what, back, view.go_on),
                                  held.rank),
                  .rollback = std::move(rollback)};
  verdict.end.rolled_back = true;
  return verdict;
}

std::string early_end(const Decisions& decisions) {
  const auto stop = std::ranges::find(decisions, DecisionKind::kEarlyStop, &Decision::kind);
  return stop == decisions.end()
             ? "done"
             : fmt::format("stopped early at step {}: {}", stop->change.step, stop->why);
}

/// Returns the end of a start whose workers have all said Goodbye.
RunEnd finished(const View& view) {
  const bool is_early = view.steps_done < view.end_step;
  RunEnd end = ended_by(ExitCode::kDone, "done");
  if (view.is_saving) {
    // A worker sends its parts before its Goodbye: a part that is missing now never arrives.
    end = ended_by(ExitCode::kInternal,
                   "the workers left before they had reported their last checkpoint");
  } else if (view.leave && view.leave->resize && is_early) {
    end = ended_by(
        ExitCode::kPreempted,
        leave_reason(*view.leave->resize, view.save_error.empty()
                                              ? fmt::format("at step {}", view.steps_done)
                                              : fmt::format("and could not save step {} ({})",
                                                            view.steps_done, view.save_error)));
    end.resize = view.leave->resize;
  } else if (!view.save_error.empty()) {
    end = ended_by(ExitCode::kEnvironment,
                   "the last checkpoint could not be saved: " + view.save_error);
    if (view.leave) {
      end.exit_code = 128 + (view.leave->signal == SIGINT ? SIGINT : SIGTERM);
    }
  } else if (view.leave && is_early) {
    end = ended_by(ExitCode::kPreempted, fmt::format("stopped on request and saved at step {}: {}",
                                                     view.steps_done, view.go_on));
  } else if (view.steps_done < view.job_steps) {
    end.reason = early_end(view.decisions);
  }
  end.is_orderly = true;
  end.saved = !view.is_saving && view.save_error.empty();
  return end;
}

Verdict decide_without_step(const View& view, TimePoint now) {
  using Act = Verdict::Act;
  if (view.fault) {
    return {.act = Act::kEnd, .end = failed(view, *view.fault)};
  }
  if (view.trouble) {
    const auto waited = now - view.trouble->since;
    const bool is_reported =
        view.steps_done + 1 >= view.trouble->trouble.step || waited >= kReportPatience;
    const bool awaits_disk = view.is_saving_before && waited < kHealthySavePatience;
    return is_reported && !awaits_disk ? answer(view, *view.trouble) : Verdict{};
  }
  if (view.leave && !view.has_begun) {
    return {
        .act = Act::kEnd,
        .end = ended_by(ExitCode::kPreempted,
                        "stopped on request before the first step: the same command continues")};
  }
  if (view.have_all_left && !view.is_committing) {
    return {.act = Act::kEnd, .end = finished(view)};
  }
  return {};
}

}  // namespace

Verdict decide(const View& view, TimePoint now) {
  Verdict verdict = decide_without_step(view, now);
  verdict.end.step = view.steps_done;
  return verdict;
}

std::string why_not_resized(const View& view) {
  if (!view.has_begun) {
    return "it has not begun to train: try again";
  }
  if (view.leave) {
    return view.leave->resize ? "it is about to go on with other workers: try again"
                              : "it is stopping";
  }
  return view.is_supervised ? ""
                            : "no `gangway run` supervises it: gangway stop, then start the job "
                              "with the workers that it is to have";
}

}  // namespace gangway::coordinator
