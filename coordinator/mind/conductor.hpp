// SPDX-License-Identifier: MIT
// The coordinator's decisions: messages, lifeline events, signals and clock ticks go in, effects
// come out. Owns the membership, leases, checkpoint ledger and ticks. Uses no sockets, threads,
// clocks or files. The event loop (coordinator/edges/event_loop.hpp) drives it from its one thread
// and carries the effects out.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "coordinator/mind/blame.hpp"
#include "coordinator/mind/checkpoint_ledger.hpp"
#include "coordinator/mind/lease_book.hpp"
#include "coordinator/mind/membership.hpp"
#include "coordinator/mind/progress_watch.hpp"
#include "coordinator/mind/save_clock.hpp"
#include "coordinator/mind/score_watch.hpp"
#include "coordinator/mind/snapshot_book.hpp"
#include "coordinator/mind/tick_accounting.hpp"
#include "coordinator/resume/resume_talk.hpp"
#include "coordinator/steering/balance.hpp"
#include "coordinator/steering/command.hpp"
#include "coordinator/steering/job_status.hpp"
#include "coordinator/steering/resize.hpp"
#include "coordinator/trouble/first_memory.hpp"
#include "coordinator/trouble/trouble_watch.hpp"
#include "coordinator/trouble/watch_memory.hpp"
#include "job/decisions.hpp"
#include "job/divergence.hpp"
#include "job/spec.hpp"
#include "run/control/steering_file.hpp"
#include "run/messages/messages.hpp"

namespace gangway::coordinator {

/// How the job ended.
struct Outcome {
  int exit_code = 0;      ///< an ExitCode, 130 or 143
  std::string reason;     ///< one line
  int rank = 0;           ///< rank to blame; 0: none in particular
  std::int64_t step = 0;  ///< steps done
  /// Whether every worker has said Goodbye, so that MPI_Finalize is safe.
  bool orderly = false;
  bool saved = false;  ///< whether the whole state is on the disk
  /// Step of the snapshot that all workers have and that is newer than any checkpoint.
  std::optional<std::int64_t> unsaved_snapshot = {};
  bool keeps = false;  ///< copy it to the disk: memory may go before the next start
  /// Whether a rollback was decided: the next start resumes from an earlier state.
  bool rolled_back = false;
  /// The resize that the job ends for; the next start applies it.
  std::optional<Resize> resize = {};
};

// Effects; the event loop carries them out in order.
struct SendMessage {
  std::vector<int> ranks;  ///< all receive the same bytes
  messages::Message message;
};
/// Choose the state to start from; then call `Conductor::begin_with` or `cannot_begin`.
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
/// Write the manifest of a complete checkpoint; then call `Conductor::checkpoint_committed` or
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
/// Score an earlier start's checkpoint of this step; then call `Conductor::scored`.
struct ScoreCheckpoint {
  std::int64_t step = 0;
};
/// Write all decisions of the run to the disk; then call `Conductor::recorded` or `unrecorded`.
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
  Outcome outcome;
};
using Effect =
    std::variant<SendMessage, ChooseResumePoint, GrantLease, CommitCheckpoint, DiscardCheckpoint,
                 ShowPlacement, ShowTick, ShowPicture, ScoreCheckpoint, RecordDecisions, KeepWatch,
                 RecordSteering, KeepCheckpoints, PinCheckpoint, BeginTrace, Say, EndJob>;
using Effects = std::vector<Effect>;

enum class Request { kSaveAndLeave, kSaveAndGoOn, kEndNow };

struct ConductorSettings {
  int num_workers = 1;
  std::string build;          ///< the coordinator's own: base/build_id.hpp
  messages::Welcome welcome;  ///< sent to each worker after the epoch is filled in
  LeasePlan leases;
  TickPlan ticks;
  MembershipLimits limits;
  /// Whether `gangway run` supervises the ranks and restarts them.
  bool is_supervised = false;
  /// Arithmetic of the previous start, if `gangway run` restarted the same command after a loss, a
  /// rollback or a resize.
  std::optional<messages::Arithmetic> arithmetic_before;
  BalancePlan balance;
  SnapshotPace snapshots;
  /// As Hello::shared_memory: the memory whose snapshots rank 0 copies to the disk when the run
  /// fails. Elsewhere workers copy them. Nothing: no process copies snapshots.
  std::optional<std::uint64_t> copied_by_rank_0;
  std::string go_on = "the same command goes on";  ///< advice after a save on request
  /// Shortest time without a step that is a fault; ten times as long before the first step.
  std::chrono::milliseconds progress_floor{60'000};
  std::chrono::milliseconds save_interval{0};  ///< between checkpoints; 0: not by time
  /// Duration of a checkpoint, beside the training, from which a warning is printed.
  std::chrono::milliseconds save_alarm{60'000};
  /// Shortest time without a byte on the disk that is a fault, at the end of the run.
  std::chrono::milliseconds save_floor{600'000};
  DivergenceSpec divergence;
  std::vector<WatchedNetwork> watched;  ///< in loss order
  ScorePlan scores;
  Decisions decisions;               ///< of earlier starts; `welcome` applies their changes
  WatchMemory watch_memory;          ///< of earlier starts
  JobSpec job;                       ///< as in the job file
  JobSpec steered_job;               ///< with the keys set by commands since
  std::optional<PauseStatus> pause;  ///< a pause of an earlier start, not resumed yet
};

/// Result of on_command: the answer and the effects.
struct Commanded {
  CommandAnswer answer;
  Effects effects;
};

class Conductor {
 public:
  Conductor(ConductorSettings settings, TimePoint start);

  [[nodiscard]] Effects on_message(int rank, const messages::Envelope& envelope, TimePoint now,
                                   double unix_seconds);
  [[nodiscard]] Effects on_lifeline_opened(int rank, TimePoint now);
  void on_heartbeat(int rank, Pulse pulse, TimePoint now);
  /// Records that the worker reported the signal that ends it.
  void on_dying(int rank, int signal) { membership_.dying(rank, signal); }
  /// Records that the worker's host acknowledges no packets any more.
  void on_cut_off(int rank) { membership_.cut_off(rank); }
  void on_lifeline_closed(int rank, TimePoint now);
  /// @param signal  number; the exit code of a leave whose save fails
  [[nodiscard]] Effects on_request(Request request, int signal, TimePoint now);
  /// Handles a user's command from another process. It takes effect at a lease's boundary.
  [[nodiscard]] Commanded on_command(const Command& command, TimePoint now, double unix_seconds);
  /// Checks the deadlines. Call at least every 50 ms: a gap of a second or more counts as the
  /// coordinator's own stall, not as the workers' silence.
  [[nodiscard]] Effects on_clock(TimePoint now);
  /// Starts all workers from `point`, the answer to ChooseResumePoint.
  [[nodiscard]] Effects begin_with(const ResumePoint& point);
  [[nodiscard]] Effects cannot_begin(ExitCode code, const std::string& reason) {
    return end(code, 0, reason);
  }
  [[nodiscard]] Effects checkpoint_committed(std::int64_t step, TimePoint now);
  [[nodiscard]] Effects checkpoint_failed(std::int64_t step, const std::string& reason,
                                          TimePoint now);

  /// Handles a checkpoint's score, or the lack of one.
  [[nodiscard]] Effects scored(const ScoreFound& score);
  /// Handles the end of the oldest RecordDecisions. If no other is pending, the decisions take
  /// effect.
  [[nodiscard]] Effects recorded(TimePoint now);
  [[nodiscard]] Effects unrecorded(const std::string& reason);

  /// Returns the job's status.
  [[nodiscard]] JobStatus status(TimePoint now, double unix_seconds) const;

  [[nodiscard]] const Membership& membership() const { return membership_; }
  [[nodiscard]] bool ended() const { return ended_; }

 private:
  /// Sender, epoch and time of a message.
  struct Arrival {
    int rank;
    std::int64_t epoch;
    TimePoint now;
    double unix_seconds;
  };
  /// A command's author and time, and the effects that it adds to.
  struct Asked {
    const std::string& who;
    TimePoint now;
    double unix_seconds;
    Effects& effects;
  };
  [[nodiscard]] Effects take(const messages::Hello& hello, const Arrival& arrival);
  [[nodiscard]] Effects take(const messages::Inventory& inventory, const Arrival& arrival);
  [[nodiscard]] Effects take(const messages::Loading& loading, const Arrival& arrival);
  [[nodiscard]] Effects take(const messages::Unloadable& unloadable, const Arrival& arrival);
  [[nodiscard]] Effects take(const messages::Ready& ready, const Arrival& arrival);
  [[nodiscard]] Effects take(const messages::Progress& progress, const Arrival& arrival);
  [[nodiscard]] Effects take(const messages::CheckpointPart& part, const Arrival& arrival);
  [[nodiscard]] Effects take(const messages::Picture& picture, const Arrival& arrival);
  [[nodiscard]] Effects take(const messages::Stop& stop, const Arrival& arrival);
  [[nodiscard]] Effects take(const messages::Goodbye& goodbye, const Arrival& arrival);
  [[nodiscard]] Effects take(const messages::Welcome& welcome, const Arrival& arrival);
  [[nodiscard]] Effects take(const messages::Begin& begin, const Arrival& arrival);
  [[nodiscard]] Effects take(const messages::Lease& lease, const Arrival& arrival);
  [[nodiscard]] Effects take(const messages::Patience& patience, const Arrival& arrival);
  [[nodiscard]] Effects refuse(std::string_view name, const Arrival& arrival);
  [[nodiscard]] Effects begin_if_ready(TimePoint now);
  [[nodiscard]] Effects grant(TimePoint now);
  [[nodiscard]] Effects end(ExitCode code, int rank, const std::string& reason);
  [[nodiscard]] Effects end_with(Outcome outcome);
  [[nodiscard]] Effects lose(const Fault& fault);
  /// Answers trouble with a rollback, if the job allows one more, or ends the job.
  [[nodiscard]] Effects answer(const Trouble& trouble, int rank);
  /// Returns RecordDecisions with all decisions.
  [[nodiscard]] Effects record();
  /// Delays answer() until all workers have reported the earlier steps and their checkpoints are on
  /// the disk. The result then depends neither on message order nor on the disk's speed. Until then
  /// no lease is granted.
  [[nodiscard]] Effects hold_back(Trouble trouble, int rank, TimePoint now);
  [[nodiscard]] Effects answer_when_due(TimePoint now);
  /// Whether a checkpoint before `step` is under way and can still become complete.
  [[nodiscard]] bool saves_before(std::int64_t step) const;
  /// Returns why the job has ended before its last step.
  [[nodiscard]] std::string early_end() const;
  /// Looks for trouble in finished steps and ticks, and updates what is remembered of them.
  [[nodiscard]] Effects look_for_trouble(const std::optional<report::Tick>& tick, TimePoint now);
  /// Looks for trouble without updating what is remembered.
  [[nodiscard]] Effects troubles_of(const std::optional<report::Tick>& tick, TimePoint now);
  /// Restores the trouble watch's memory of `step`, where training begins.
  void recall_at(std::int64_t step);
  /// Marks the steps of a lease whose states a later start may resume from.
  void remember_at(const messages::Lease& lease, bool saves);
  [[nodiscard]] Effects keep_watch();
  [[nodiscard]] Effects finish_if_done();
  void forgive_own_stall(TimePoint now);
  [[nodiscard]] std::optional<Fault> check_progress(TimePoint now) const;
  /// Prints a note about slow workers, once for each step. Slow workers are never killed.
  [[nodiscard]] Effects name_who_is_late(TimePoint now);
  /// Returns the time allowed to a rank beyond the usual silence, such as for its disk; nothing:
  /// the rank is not expected to make progress.
  [[nodiscard]] std::optional<std::chrono::milliseconds> time_beyond(int rank) const;
  /// Whether a rank only has to write its last file.
  [[nodiscard]] bool is_writing_its_last(int rank) const;
  [[nodiscard]] Effects check_saves(TimePoint now);
  /// Sends Patience to workers that wait for a lease, because a score may take longer than their
  /// limit: its checkpoint must be on the disk first, after any earlier scores.
  [[nodiscard]] Effects comfort_who_waits(TimePoint now);
  /// Returns the duration of the remaining steps; nothing: no step's duration is known yet.
  [[nodiscard]] std::optional<std::chrono::duration<double>> until_end() const;
  [[nodiscard]] CommandAnswer obey(const PauseJob& order, const Asked& asked);
  [[nodiscard]] CommandAnswer obey(const ResumeJob& order, const Asked& asked);
  [[nodiscard]] CommandAnswer obey(const SaveCheckpoint& order, const Asked& asked);
  [[nodiscard]] CommandAnswer obey(const SetKey& order, const Asked& asked);
  [[nodiscard]] CommandAnswer obey(const TraceJob& order, const Asked& asked);
  [[nodiscard]] CommandAnswer obey(const DrainWorkers& order, const Asked& asked);
  [[nodiscard]] CommandAnswer obey(const StopJob& order, const Asked& asked);
  [[nodiscard]] CommandAnswer obey(const ResizeJob& order, const Asked& asked);
  /// Returns a refusal if workers cannot be drained or the job cannot be resized now.
  [[nodiscard]] CommandAnswer why_not_resized() const;
  /// Saves the state and ends this start; the next start applies `resize`.
  [[nodiscard]] Effects leave_for(Resize resize, TimePoint now);
  /// Returns the outcome of a job that the next start continues as resize_ says.
  [[nodiscard]] Outcome resized_outcome() const;
  /// Checks, until the first tick, whether the memory that a worker reported will be enough.
  [[nodiscard]] Effects look_at_memory(int rank, const messages::MemoryFigures& memory);
  /// Moves micro-batches from slow to fast workers after a tick, if that saves enough time.
  [[nodiscard]] Effects balance(TimePoint now, double unix_seconds);
  void set_plan();
  /// Returns the effects that pin checkpoints, now that the checkpoint of `step` exists.
  [[nodiscard]] Effects pin_at(std::int64_t step);
  [[nodiscard]] JobPhase phase() const;
  [[nodiscard]] std::vector<WorkerStatus> worker_statuses() const;

  ConductorSettings settings_;
  Membership membership_;
  ResumeTalk start_;
  LeaseBook leases_;
  CheckpointLedger ledger_;
  SaveClock saves_;
  SnapshotBook snapshots_;
  TickAccounting ticks_;
  ProgressWatch watch_;
  TroubleWatch troubles_;
  WatchMemory watch_memory_;
  FirstMemory first_memory_;
  std::set<std::int64_t> remembered_steps_;  ///< future steps whose trouble memory to keep
  ScoreWatch scores_;
  std::int64_t begin_step_ = 0;         ///< steps done when this start began
  std::vector<SettingsChange> untold_;  ///< recorded, but not sent in a lease yet
  std::size_t num_recorded_ = 0;        ///< decisions on the disk
  int num_records_ = 0;                 ///< RecordDecisions under way
  std::int64_t looked_at_ = 0;          ///< steps checked for trouble
  std::int64_t named_late_ = -1;        ///< the last late step that was reported
  std::optional<Outcome> end_when_recorded_;
  struct HeldBack {
    Trouble trouble;
    int rank = 0;
    TimePoint since{};
  };
  std::optional<HeldBack> held_back_;    ///< the earliest trouble without an answer
  std::optional<TimePoint> held_since_;  ///< since workers wait, or were last sent Patience
  TimePoint began_at_;
  TimePoint last_clock_;
  std::set<std::int64_t> pins_;      ///< future checkpoints to pin
  TraceSteps trace_;                 ///< the newest
  TraceSteps untold_trace_;          ///< not sent in a lease yet
  std::optional<int> leave_signal_;  ///< signal that asked for a leave
  std::optional<Resize> resize_;     ///< reason of the leave; nothing: it is for good
  Balancer balancer_;
  std::string last_save_error_;  ///< not empty: the newest save failed
  Blame blame_;
  std::optional<TimePoint> all_left_;  ///< since only the last manifest is missing
  messages::Ready ready_;              ///< the newest
  int ready_rank_ = 0;                 ///< rank that sent ready_
  std::optional<report::Tick> last_tick_;
  std::vector<std::string> pictures_;           ///< newest files of this start
  std::optional<TimePoint> committed_at_;       ///< of this start's newest checkpoint
  std::string begin_line_;                      ///< what all workers loaded, for the user
  std::optional<std::int64_t> begin_snapshot_;  ///< step of the loaded snapshot
  bool begun_ = false;                          ///< the first lease is granted
  bool ended_ = false;
};

}  // namespace gangway::coordinator
