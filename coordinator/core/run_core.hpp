// SPDX-License-Identifier: MIT
// The coordinator's decisions for a whole run: messages, lifeline events, signals, commands and
// clock ticks go in, effects come out. Owns what outlives a start (job, decisions, steering,
// scores, trouble, saves) and the Generation, the start's workers. Uses no sockets, threads, clocks
// or files. The event loop (coordinator/io/event_loop.hpp) drives it from its one thread.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/core/decide.hpp"
#include "coordinator/core/effects.hpp"
#include "coordinator/core/generation.hpp"
#include "coordinator/core/save_clock.hpp"
#include "coordinator/core/score_watch.hpp"
#include "coordinator/steering/balance.hpp"
#include "coordinator/steering/command.hpp"
#include "coordinator/steering/job_status.hpp"
#include "coordinator/trouble/trouble_watch.hpp"
#include "coordinator/trouble/watch_history.hpp"
#include "job/decisions.hpp"
#include "job/divergence.hpp"
#include "job/spec.hpp"
#include "run/messages/messages.hpp"

namespace gangway::coordinator {

enum class Request { kSaveAndLeave, kSaveAndGoOn, kEndNow };

/// The part of the settings that outlives a start.
struct RunSettings {
  /// Whether `gangway run` supervises the ranks and restarts them.
  bool is_supervised = false;
  BalancePlan balance;
  std::string go_on = "the same command continues";  ///< advice after a save on request
  std::chrono::milliseconds save_interval{0};        ///< between checkpoints; 0: not by time
  DivergenceSpec divergence;
  std::vector<WatchedNetwork> watched;  ///< in loss order
  ScorePlan scores;
  Decisions decisions;               ///< of earlier starts; `welcome` applies their changes
  WatchHistory watch_history;        ///< of earlier starts
  JobSpec steered_job;               ///< with the keys set by commands since
  std::optional<PauseStatus> pause;  ///< a pause of an earlier start, not resumed yet
};
struct RunCoreSettings : GenerationSettings, RunSettings {};

/// Result of on_command: the answer and the effects.
struct Commanded {
  CommandAnswer answer;
  Effects effects;
};

/// A message that only the coordinator sends.
template <typename Message>
concept FromCoordinator =
    std::same_as<Message, messages::Welcome> || std::same_as<Message, messages::Begin> ||
    std::same_as<Message, messages::Lease> || std::same_as<Message, messages::Patience>;

class RunCore {
 public:
  RunCore(RunCoreSettings settings, TimePoint start);

  [[nodiscard]] Effects on_message(Rank rank, const messages::Envelope& envelope, TimePoint now,
                                   double unix_seconds);
  [[nodiscard]] Effects on_lifeline_opened(Rank rank, TimePoint now);
  void on_heartbeat(Rank rank, Pulse pulse, TimePoint now) {
    generation_.membership().heartbeat(rank, pulse, now);
  }
  /// Records that the worker reported the signal that ends it.
  void on_dying(Rank rank, int signal) { generation_.membership().dying(rank, signal); }
  /// Records that the worker's host acknowledges no packets any more.
  void on_cut_off(Rank rank) { generation_.membership().cut_off(rank); }
  /// on_clock decides, because a Stop with the reason may still arrive.
  void on_lifeline_closed(Rank rank, TimePoint now) {
    generation_.membership().lifeline_closed(rank, now);
  }
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
    return end({code, Rank(), reason});
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

  [[nodiscard]] const Membership& membership() const { return generation_.membership(); }
  [[nodiscard]] bool ended() const { return ended_; }

 private:
  /// Sender, epoch and time of a message.
  struct Arrival {
    Rank rank{};
    std::int64_t epoch;
    TimePoint now;
    double unix_seconds;
  };
  /// A command's author and time, and the effects that it adds to.
  struct Asked {
    const std::string& who;
    TimePoint now;
    double unix_seconds;
    std::int64_t step;  ///< end of the granted leases
    Effects& effects;
  };
  [[nodiscard]] Effects take(const messages::Hello& hello, const Arrival& arrival) {
    return settle(generation_.take(arrival.rank, hello));
  }
  [[nodiscard]] Effects take(const messages::Inventory& inventory, const Arrival& arrival) {
    return generation_.take(arrival.rank, inventory);
  }
  [[nodiscard]] Effects take(const messages::Loading& loading, const Arrival& arrival) {
    return generation_.take(arrival.rank, loading, arrival.now);
  }
  [[nodiscard]] Effects take(const messages::Unloadable& unloadable, const Arrival& arrival) {
    return generation_.take(arrival.rank, unloadable);
  }
  [[nodiscard]] Effects take(const messages::Ready& ready, const Arrival& arrival);
  [[nodiscard]] Effects take(const messages::Progress& progress, const Arrival& arrival);
  [[nodiscard]] Effects take(const messages::CheckpointPart& part, const Arrival& arrival);
  [[nodiscard]] Effects take(const messages::Picture& picture, const Arrival& arrival);
  [[nodiscard]] Effects take(const messages::Stop& stop, const Arrival& arrival);
  [[nodiscard]] Effects take(const messages::Goodbye& goodbye, const Arrival& arrival);
  [[nodiscard]] Effects take(const FromCoordinator auto& message, const Arrival& arrival) {
    return refuse(message.kName, arrival);
  }
  [[nodiscard]] Effects refuse(std::string_view name, const Arrival& arrival);
  /// Returns the effects, or ends the job by the fault.
  [[nodiscard]] Effects settle(Generation::Reply reply);
  [[nodiscard]] Effects begin_if_ready(TimePoint now);
  [[nodiscard]] Effects grant(TimePoint now);
  [[nodiscard]] View view() const;
  /// Executes the decision on trouble, on a leave and on the end of the workers, if one is due.
  [[nodiscard]] Effects decide_now(TimePoint now);
  [[nodiscard]] Effects execute(Verdict verdict);
  [[nodiscard]] Effects end(Fault fault);
  [[nodiscard]] Effects end_with(RunEnd run_end);
  /// Whether nothing may change the run any more: it has ended, or waits for its last record.
  [[nodiscard]] bool is_over() const { return ended_ || records_.end; }
  /// Returns RecordDecisions with all decisions.
  [[nodiscard]] Effects record();
  /// Holds the trouble, unless an earlier one is held. Until its answer no lease is granted.
  [[nodiscard]] Effects hold_back(Trouble trouble, Rank rank, TimePoint now);
  /// Looks for trouble in finished steps and ticks, and updates what is remembered of them.
  [[nodiscard]] Effects look_for_trouble(const std::optional<report::Tick>& tick, TimePoint now);
  /// Looks for trouble without updating what is remembered.
  [[nodiscard]] Effects troubles_of(const std::optional<report::Tick>& tick, TimePoint now);
  /// Restores the trouble watch's memory of `step`, where training begins.
  void recall_at(std::int64_t step);
  [[nodiscard]] Effects keep_watch();
  [[nodiscard]] CommandAnswer obey(const PauseJob& order, const Asked& asked);
  [[nodiscard]] CommandAnswer obey(const ResumeJob& order, const Asked& asked);
  [[nodiscard]] CommandAnswer obey(const SaveCheckpoint& order, const Asked& asked);
  [[nodiscard]] CommandAnswer obey(const SetKey& order, const Asked& asked);
  [[nodiscard]] CommandAnswer obey(const TraceJob& order, const Asked& asked);
  [[nodiscard]] CommandAnswer obey(const DrainWorkers& order, const Asked& asked);
  [[nodiscard]] CommandAnswer obey(const StopJob& order, const Asked& asked);
  [[nodiscard]] CommandAnswer obey(const ResizeJob& order, const Asked& asked);
  /// Saves the state and ends this start; the next start applies `resize`.
  [[nodiscard]] Effects leave_for(Resize resize, TimePoint now);
  /// Moves micro-batches from slow to fast workers after a tick, if that saves enough time.
  [[nodiscard]] Effects balance(TimePoint now, double unix_seconds);
  /// Returns the effects that pin checkpoints, now that the checkpoint of `step` exists.
  [[nodiscard]] Effects pin_at(std::int64_t step);
  [[nodiscard]] JobPhase phase() const;
  [[nodiscard]] const JobSpec& job() const { return generation_.settings().job; }
  [[nodiscard]] const messages::Welcome& welcome() const { return generation_.settings().welcome; }

  /// The records of settings_.decisions.
  struct Records {
    int num_under_way = 0;               ///< RecordDecisions not finished yet
    std::size_t num_done = 0;            ///< decisions on the disk
    std::vector<SettingsChange> unsent;  ///< on the disk, but not sent in a lease yet
    std::optional<RunEnd> end;           ///< ends the job after the last record
  };

  RunSettings settings_;
  Generation generation_;
  SaveClock saves_;
  ScoreWatch scores_;
  Balancer balancer_;
  TroubleWatch troubles_;
  WatchHistory watch_history_;
  std::set<std::int64_t> remembered_steps_;  ///< future steps whose trouble memory to keep
  std::int64_t looked_at_ = 0;               ///< steps checked for trouble
  std::optional<HeldTrouble> held_back_;     ///< the earliest trouble without an answer
  Records records_;
  std::set<std::int64_t> pins_;  ///< future checkpoints to pin
  TraceSteps trace_;             ///< the newest
  TraceSteps unsent_trace_;      ///< not sent in a lease yet
  std::optional<Leave> leave_;
  std::optional<report::Tick> last_tick_;
  std::vector<std::string> pictures_;  ///< newest files of this start
  bool ended_ = false;
};

}  // namespace gangway::coordinator
