// SPDX-License-Identifier: MIT
// Decides whether a start continues, rolls back or ends, and with which reason and exit code. A
// pure function of the View, which RunCore fills in. RunCore executes the decision.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/time.hpp"
#include "coordinator/core/membership.hpp"
#include "coordinator/trouble/trouble_watch.hpp"
#include "job/decisions.hpp"
#include "job/divergence.hpp"
#include "run/run_end.hpp"

namespace gangway::coordinator {

/// The earliest trouble that has no answer yet. It waits until all workers have reported the
/// earlier steps and their checkpoints are on the disk, so that the answer depends neither on the
/// order of messages nor on the disk's speed.
struct HeldTrouble {
  Trouble trouble;
  Rank rank{};  ///< rank that reported it; 0: none in particular
  TimePoint since{};
};

/// A request to save and end the start.
struct Leave {
  int signal = 0;                     ///< exit code, as 128 plus this, if the save fails
  std::optional<Resize> resize = {};  ///< why; nothing: the run ends for good
};

/// The facts that a decision depends on.
struct View {
  // Of the start.
  bool has_begun = false;         ///< the first lease is granted
  bool have_all_left = false;     ///< all workers have said Goodbye
  bool is_saving = false;         ///< a checkpoint is under way
  bool is_committing = false;     ///< a checkpoint has all its files but no manifest yet
  bool is_saving_before = false;  ///< a checkpoint from before `trouble` can still become complete
  bool is_restart = false;        ///< `gangway run` restarted the same command
  std::int64_t steps_done = 0;    ///< by all workers
  std::int64_t end_step = 0;      ///< of the start: lower after an early stop
  std::string save_error;         ///< not empty: the newest save failed
  std::optional<Fault> fault;     ///< a worker failed
  // Of the run.
  std::optional<HeldTrouble> trouble;
  std::optional<Leave> leave;
  bool is_supervised = false;  ///< `gangway run` starts the job again
  std::int64_t start = 0;      ///< number of the start
  std::int64_t job_steps = 0;  ///< last step of the job
  std::string go_on;           ///< advice after a save on request
  DivergenceSpec divergence;
  Decisions decisions;
};

/// What follows; `end` also says why.
struct Verdict {
  enum class Act { kGoOn, kRollBack, kEnd };
  Act act = Act::kGoOn;
  RunEnd end = {};                        ///< kEnd, and kRollBack once `rollback` is recorded
  std::optional<Decision> rollback = {};  ///< kRollBack
};

[[nodiscard]] Verdict decide(const View& view, TimePoint now);

/// Returns why the workers cannot be drained or the job resized now; empty: they can.
[[nodiscard]] std::string why_not_resized(const View& view);

}  // namespace gangway::coordinator
