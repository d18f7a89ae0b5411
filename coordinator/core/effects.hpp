// SPDX-License-Identifier: MIT
// The effects of the coordinator's decisions. RunCore and Generation return them; the event loop
// (coordinator/io/event_loop.hpp) carries them out in order.
#pragma once

#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "coordinator/core/checkpoint_ledger.hpp"
#include "coordinator/resume/resume_protocol.hpp"
#include "job/decisions.hpp"
#include "job/layout/layout.hpp"
#include "job/spec.hpp"
#include "report/tick.hpp"
#include "run/control/steering_file.hpp"
#include "run/messages/messages.hpp"
#include "run/run_end.hpp"

namespace gangway::coordinator {

struct SendMessage {
  std::vector<Rank> ranks;  ///< all receive the same bytes
  messages::Message message;
};
/// Choose the state to start from; then call `RunCore::begin_with` or `cannot_begin`.
struct ChooseResumePoint {
  SnapshotInventory inventory;
  std::string refused_checkpoint;  ///< not empty: why the previous choice failed to load
};
/// Send the same lease to every worker. The event loop makes the checkpoint's folder and names it
/// in the lease.
struct GrantLease {
  messages::Lease lease;
  std::optional<std::int64_t> checkpoint_step;  ///< step of that checkpoint
};
/// Write the manifest of a complete checkpoint; then call `RunCore::checkpoint_committed` or
/// `checkpoint_failed`.
struct CommitCheckpoint {
  CompleteCheckpoint checkpoint;
};
/// Remove the files of a failed checkpoint.
struct DiscardCheckpoint {
  std::int64_t step = 0;
};
/// Print the placement table, because all workers are ready.
struct ShowPlacement {
  messages::Ready ready;  ///< of the last worker
  Layout layout;
  std::int64_t step = 0;  ///< steps done when this start begins
};
struct ShowTick {
  report::Tick tick;
};
struct ShowPicture {
  messages::Picture picture;
};
/// Score an earlier start's checkpoint of this step; then call `RunCore::scored`.
struct ScoreCheckpoint {
  std::int64_t step = 0;
};
/// Write all decisions of the run to the disk; then call `RunCore::recorded` or `unrecorded`.
struct RecordDecisions {
  Decisions decisions;
};
/// Write the TroubleWatch's memory to the run directory, when the disk has time.
struct KeepWatch {
  std::string text;
};
/// Record an accepted command in the run directory, before the user gets the answer.
struct RecordSteering {
  SteeringEvent event;
};
/// Apply these retention keys to checkpoints from now on.
struct KeepCheckpoints {
  CheckpointSpec spec;
};
/// Keep this committed checkpoint until it is unpinned.
struct PinCheckpoint {
  std::int64_t step = 0;
};
/// Remove an earlier trace's files; then merge the traces of these steps.
struct BeginTrace {
  TraceSteps steps;
};
/// One line for the user: "warn  …", "note  …" or "ALARM …".
struct Say {
  std::string line;
};
/// End the job. Always the last effect.
struct EndJob {
  RunEnd end;
};
using Effect =
    std::variant<SendMessage, ChooseResumePoint, GrantLease, CommitCheckpoint, DiscardCheckpoint,
                 ShowPlacement, ShowTick, ShowPicture, ScoreCheckpoint, RecordDecisions, KeepWatch,
                 RecordSteering, KeepCheckpoints, PinCheckpoint, BeginTrace, Say, EndJob>;
using Effects = std::vector<Effect>;

inline void append(Effects& effects, Effects more) {
  effects.insert(effects.end(), std::make_move_iterator(more.begin()),
                 std::make_move_iterator(more.end()));
}

}  // namespace gangway::coordinator
