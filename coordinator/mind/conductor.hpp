// SPDX-License-Identifier: MIT
// The coordinator's mind: messages, lifeline events, signals and the passing of time go in, effects
// come out. It owns the membership, the leases, the checkpoint ledger and the ticks, and does
// nothing itself: no sockets, threads, clocks or files. The event loop
// (coordinator/edges/event_loop.hpp) drives it from its one thread and carries the effects out.
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
  int rank = 0;           ///< the culprit; 0: none in particular
  std::int64_t step = 0;  ///< steps done
  /// Every worker has said Goodbye: MPI_Finalize is safe.
  bool orderly = false;
  bool saved = false;  ///< all of its state is on the disk
  /// Of the snapshot that all have and that is newer than any checkpoint.
  std::optional<std::int64_t> unsaved_snapshot = {};
  bool keeps = false;  ///< which is to be copied to the disk: memory may go before the next start
  /// A rollback was decided: the next start goes on from an earlier state.
  bool rolled_back = false;
  /// It left for this: the next start goes on so.
  std::optional<Resize> resize = {};
};

// Effects, to be carried out in the order in which they come.
struct SendMessage {
  std::vector<int> ranks;  ///< all get the same bytes
  messages::Message message;
};
/// Choose the state to begin with; then call `Conductor::begin_with` or `cannot_begin`.
struct ChooseResumePoint {
  SnapshotInventory inventory;
  std::string refused_checkpoint;  ///< not empty: why the one chosen before could not be loaded
};
/// The same lease for every worker. The checkpoint's folder is made by whoever carries this out,
/// and filled in.
struct GrantLease {
  messages::Lease lease;
  std::optional<std::int64_t> checkpoint_step;  ///< a folder for this step is to be named in it
};
/// Write the manifest of a complete checkpoint; then call `Conductor::checkpoint_committed` or
/// `checkpoint_failed`.
struct CommitCheckpoint {
  CompleteCheckpoint checkpoint;
};
/// Remove what a failed checkpoint left.
struct DiscardCheckpoint {
  std::int64_t step = 0;
};
/// All workers are ready: time for the placement table.
struct ShowPlacement {
  messages::Ready ready;  ///< of the last one
  Layout layout;
  std::int64_t step = 0;  ///< that this start begins at
};
struct ShowTick {
  report::Tick tick;
};
struct ShowPicture {
  messages::Picture picture;
};
/// Have the checkpoint of this step, of an earlier start, scored; then call `Conductor::scored`.
struct ScoreCheckpoint {
  std::int64_t step = 0;
};
/// Put all decisions of the run on the disk; then call `Conductor::recorded` or `unrecorded`.
struct RecordDecisions {
  Decisions decisions;
};
/// Put what the watch over trouble remembers beside the run, whenever the disk has time.
struct KeepWatch {
  std::string text;
};
/// A person has asked for something, and got it: beside the run, before that person is answered.
struct RecordSteering {
  SteeringEvent event;
};
/// From here on checkpoints are kept as these keys say.
struct KeepCheckpoints {
  CheckpointSpec spec;
};
/// Keep a checkpoint, which has been committed, until it is unpinned.
struct PinCheckpoint {
  std::int64_t step = 0;
};
/// What an earlier trace left is in the way of one of these steps, which are then to be merged.
struct BeginTrace {
  TraceSteps steps;
};
/// One line for the user: "warn  …", "note  …" or "ALARM …".
struct Say {
  std::string line;
};
/// Always the last effect there is.
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
  messages::Welcome welcome;  ///< sent to each worker; the epoch is filled in
  LeasePlan leases;
  TickPlan ticks;
  MembershipLimits limits;
  /// `gangway run` stands over the ranks, and starts them again.
  bool is_supervised = false;
  /// Of the last start of the command that began, where it has made this one by itself, after a
  /// loss, a rollback or a resize.
  std::optional<messages::Arithmetic> arithmetic_before;
  BalancePlan balance;
  SnapshotPace snapshots;
  /// As Hello::shared_memory: the memory whose snapshots rank 0 copies to the disk when the run
  /// fails; elsewhere workers do. Nothing: nobody does.
  std::optional<std::uint64_t> copied_by_rank_0;
  std::string go_on = "the same command goes on";  ///< advice after a save on request
  /// Least silence between two steps that is a fault; ten times as long before the first.
  std::chrono::milliseconds progress_floor{60'000};
  std::chrono::milliseconds save_interval{0};  ///< between checkpoints; 0: not by time
  /// What a checkpoint may take beside the training until it is said aloud that it does.
  std::chrono::milliseconds save_alarm{60'000};
  /// Least time without a byte on the disk, at the end of the run, that is a fault.
  std::chrono::milliseconds save_floor{600'000};
  DivergenceSpec divergence;
  std::vector<WatchedNetwork> watched;  ///< in the order of their losses
  ScorePlan scores;
  Decisions decisions;               ///< of earlier starts; what they change is in `welcome`
  WatchMemory watch_memory;          ///< theirs
  JobSpec job;                       ///< as its file has it
  JobSpec steered_job;               ///< with what people have set since
  std::optional<PauseStatus> pause;  ///< asked for in an earlier start, and not taken back
};

/// What on_command gives: the answer, and what is to be done.
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
  /// The worker has said which signal ends it.
  void on_dying(int rank, int signal) { membership_.dying(rank, signal); }
  /// Its host acknowledges nothing any more.
  void on_cut_off(int rank) { membership_.cut_off(rank); }
  void on_lifeline_closed(int rank, TimePoint now);
  /// @param signal number, for the exit code of a leave whose save fails.
  [[nodiscard]] Effects on_request(Request request, int signal, TimePoint now);
  /// What a person asks for, from another process. It takes effect at a lease's boundary.
  [[nodiscard]] Commanded on_command(const Command& command, TimePoint now, double unix_seconds);
  /// The deadlines. Call at least every 50 ms: after a gap of a second or more, the silence of that
  /// time is taken for the coordinator's own and does not count.
  [[nodiscard]] Effects on_clock(TimePoint now);
  /// What all workers begin with, as ChooseResumePoint asked.
  [[nodiscard]] Effects begin_with(const ResumePoint& point);
  [[nodiscard]] Effects cannot_begin(ExitCode code, const std::string& reason) {
    return end(code, 0, reason);
  }
  [[nodiscard]] Effects checkpoint_committed(std::int64_t step, TimePoint now);
  [[nodiscard]] Effects checkpoint_failed(std::int64_t step, const std::string& reason,
                                          TimePoint now);

  /// A checkpoint has got its score, or gets none.
  [[nodiscard]] Effects scored(const ScoreFound& score);
  /// What the oldest RecordDecisions asked for is on the disk; where it is the last one too, what
  /// the decisions say may follow.
  [[nodiscard]] Effects recorded(TimePoint now);
  [[nodiscard]] Effects unrecorded(const std::string& reason);

  /// How the job stands.
  [[nodiscard]] JobStatus status(TimePoint now, double unix_seconds) const;

  [[nodiscard]] const Membership& membership() const { return membership_; }
  [[nodiscard]] bool ended() const { return ended_; }

 private:
  /// Where and when a message came.
  struct Arrival {
    int rank;
    std::int64_t epoch;
    TimePoint now;
    double unix_seconds;
  };
  /// Who asks when, and what is to be done about it.
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
  /// Training cannot go on so: it goes back, where the job says so and has not too often, or ends.
  [[nodiscard]] Effects answer(const Trouble& trouble, int rank);
  /// Has all decisions put on the disk.
  [[nodiscard]] Effects record();
  /// The same once all workers have told of earlier steps, and the checkpoints of those are on the
  /// disk, so that the result depends neither on message order nor on the disk's speed. Until then
  /// no lease is granted.
  [[nodiscard]] Effects hold_back(Trouble trouble, int rank, TimePoint now);
  [[nodiscard]] Effects answer_when_due(TimePoint now);
  /// Whether a checkpoint of an earlier step is under way and can still be complete.
  [[nodiscard]] bool saves_before(std::int64_t step) const;
  /// Why the job has ended before its last step.
  [[nodiscard]] std::string early_end() const;
  /// What the steps and ticks that are over show.
  [[nodiscard]] Effects look_for_trouble(const std::optional<report::Tick>& tick, TimePoint now);
  /// The same without what is kept of it.
  [[nodiscard]] Effects troubles_of(const std::optional<report::Tick>& tick, TimePoint now);
  /// Training begins at `step`, with what was kept of that.
  void recall_at(std::int64_t step);
  /// States of these steps may be begun with.
  void remember_at(const messages::Lease& lease, bool saves);
  [[nodiscard]] Effects keep_watch();
  [[nodiscard]] Effects finish_if_done();
  void forgive_own_stall(TimePoint now);
  [[nodiscard]] std::optional<Fault> check_progress(TimePoint now) const;
  /// Slow is said, and never killed: once for each step.
  [[nodiscard]] Effects name_who_is_late(TimePoint now);
  /// What a rank has beyond the usual limit of a silence, its disk's time, say; nothing: it is not
  /// expected to get on.
  [[nodiscard]] std::optional<std::chrono::milliseconds> time_beyond(int rank) const;
  /// Whether all that is left for a rank is to write its last file.
  [[nodiscard]] bool is_writing_its_last(int rank) const;
  [[nodiscard]] Effects check_saves(TimePoint now);
  /// A score may be longer on its way than a worker waits for a lease: its checkpoint has to be on
  /// the disk first, and others may be scored before it.
  [[nodiscard]] Effects comfort_who_waits(TimePoint now);
  /// How long the steps that are left take; nothing: no step is known yet.
  [[nodiscard]] std::optional<std::chrono::duration<double>> until_end() const;
  [[nodiscard]] CommandAnswer obey(const PauseJob& order, const Asked& asked);
  [[nodiscard]] CommandAnswer obey(const ResumeJob& order, const Asked& asked);
  [[nodiscard]] CommandAnswer obey(const SaveCheckpoint& order, const Asked& asked);
  [[nodiscard]] CommandAnswer obey(const SetKey& order, const Asked& asked);
  [[nodiscard]] CommandAnswer obey(const TraceJob& order, const Asked& asked);
  [[nodiscard]] CommandAnswer obey(const DrainWorkers& order, const Asked& asked);
  [[nodiscard]] CommandAnswer obey(const StopJob& order, const Asked& asked);
  [[nodiscard]] CommandAnswer obey(const ResizeJob& order, const Asked& asked);
  /// Refuses where nobody may be drained and nothing resized now.
  [[nodiscard]] CommandAnswer why_not_resized() const;
  /// The state is saved, and the job started again so.
  [[nodiscard]] Effects leave_for(Resize resize, TimePoint now);
  /// Ends the job, which goes on as resize_ says.
  [[nodiscard]] Outcome resized_outcome() const;
  /// What a worker told of its memory, until the first tick: whether it will be enough.
  [[nodiscard]] Effects look_at_memory(int rank, const messages::MemoryFigures& memory);
  /// A tick is over: micro-batches go from slow workers to fast ones, where that is worth it.
  [[nodiscard]] Effects balance(TimePoint now, double unix_seconds);
  void set_plan();
  /// The checkpoints that are to be pinned, now that the one of `step` exists.
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
  std::set<std::int64_t> remembered_steps_;  ///< to come, of which it is to keep what it remembers
  ScoreWatch scores_;
  std::int64_t begin_step_ = 0;         ///< steps done when this start began
  std::vector<SettingsChange> untold_;  ///< recorded, and in no lease yet
  std::size_t num_recorded_ = 0;        ///< decisions that are on the disk
  int num_records_ = 0;                 ///< RecordDecisions on their way there
  std::int64_t looked_at_ = 0;          ///< steps that are over and were looked at
  std::int64_t named_late_ = -1;        ///< the newest step after which none came for long
  std::optional<Outcome> end_when_recorded_;
  struct HeldBack {
    Trouble trouble;
    int rank = 0;
    TimePoint since{};
  };
  std::optional<HeldBack> held_back_;    ///< the earliest that is not answered yet
  std::optional<TimePoint> held_since_;  ///< that workers wait for a score, or were told to
  TimePoint began_at_;
  TimePoint last_clock_;
  std::set<std::int64_t> pins_;      ///< checkpoints to come that are to be pinned
  TraceSteps trace_;                 ///< the newest
  TraceSteps untold_trace_;          ///< in no lease yet
  std::optional<int> leave_signal_;  ///< a leave was asked for by this signal
  std::optional<Resize> resize_;     ///< that the leave is for; nothing: it is for good
  Balancer balancer_;
  std::string last_save_error_;  ///< not empty: the newest save failed
  Blame blame_;
  std::optional<TimePoint> all_left_;  ///< since when the last manifest alone is waited for
  messages::Ready ready_;              ///< the newest
  int ready_rank_ = 0;                 ///< whose it is
  std::optional<report::Tick> last_tick_;
  std::vector<std::string> pictures_;           ///< files, of this start, the newest
  std::optional<TimePoint> committed_at_;       ///< the newest checkpoint of this start
  std::string begin_line_;                      ///< what all have loaded, for the user
  std::optional<std::int64_t> begin_snapshot_;  ///< step of the snapshot that all began with
  bool begun_ = false;                          ///< the first lease is out
  bool ended_ = false;
};

}  // namespace gangway::coordinator
