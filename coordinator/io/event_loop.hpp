// SPDX-License-Identifier: MIT
// The coordinator's event loop: feeds MPI messages, lifelines, signals and the clock to the
// RunCore and carries its effects out. Called by main(); runs on the thread that calls run().
// Slow disk work (folders, commits, removals) runs on DiskThreads.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include "coordinator/core/run_core.hpp"
#include "coordinator/io/checkpoint_scorer.hpp"
#include "coordinator/io/disk_thread.hpp"
#include "coordinator/io/lifeline_server.hpp"
#include "coordinator/io/mpi_control.hpp"
#include "coordinator/io/run_recorder.hpp"
#include "coordinator/resume/resume_choice.hpp"
#include "run/control/steering_file.hpp"
#include "run/tether.hpp"

namespace gangway::coordinator {

/// The objects that the loop connects; all must outlive it.
struct LoopParts {
  boost::asio::io_context& io;
  boost::asio::signal_set& signals;
  MpiControl& mpi;
  LifelineServer& lifelines;
  RunRecorder& recorder;
  ResumeChoice& choice;
  CheckpointScorer& scorer;
  Tether& tether;
  std::function<void(JobStatus)> show_status = {};  ///< about once a second; may be empty
  /// Called with each effect before it is carried out.
  std::function<void(const Effect&)> watch = [](const Effect&) {};
};

class EventLoop {
 public:
  EventLoop(LoopParts parts, RunCoreSettings settings);

  /// Returns the job's status. Call this and the functions below on the loop's thread.
  [[nodiscard]] JobStatus status() const;
  /// Carries out a user's command.
  /// @param answered  called once. A refusal calls it immediately. Else the thread that records the
  /// command calls it when the record is on the disk.
  void obey(const Command& command, const std::function<void(const CommandAnswer&)>& answered);

  /// Runs the job to its end. @return how; if not orderly, exit without MPI_Finalize
  RunEnd run();

 private:
  /// A lease that is not sent yet; leases are sent in the order of grants_.
  struct HeldGrant {
    std::int64_t epoch = 0;  ///< epoch of the grant
    messages::Lease lease;
    bool is_ready = true;  ///< its checkpoint's folder exists, or cannot be made
  };

  void wait_for_signal();
  void schedule_poll();
  void show_status();
  void poll();
  /// Sends workers and the supervisor a heartbeat of this loop.
  void beat();
  /// Handles arrived messages for at most `longest`. @return whether there were any
  bool pump(std::chrono::milliseconds longest);
  void carry_out(const Effects& effects);
  void carry_out(const SendMessage& send);
  void carry_out(const ChooseResumePoint& question);
  /// Makes the checkpoint's folder first; later leases wait for it too.
  void carry_out(const GrantLease& grant);
  void carry_out(const CommitCheckpoint& commit);
  void carry_out(const DiscardCheckpoint& discard);
  void carry_out(const ShowPlacement& placement) {
    parts_.recorder.show_placement(core_.membership(), placement);
  }
  void carry_out(const ShowTick& tick) { parts_.recorder.show_tick(tick.tick); }
  void carry_out(const ShowPicture& picture) { parts_.recorder.show_picture(picture.picture); }
  void carry_out(const ScoreCheckpoint& checkpoint) { score(checkpoint.step); }
  /// Writes the decisions to the disk; no decision takes effect before that.
  void carry_out(const RecordDecisions& record);
  void carry_out(const KeepWatch& keep) { parts_.recorder.keep_watch(keep.text); }
  void carry_out(const RecordSteering& record);
  void carry_out(const KeepCheckpoints& keep) { parts_.recorder.keep_checkpoints(keep.spec); }
  void carry_out(const PinCheckpoint& pin);
  void carry_out(const BeginTrace& trace) { parts_.recorder.begin_trace(trace.steps); }
  void carry_out(const Say& say) { parts_.recorder.say(say.line); }
  void carry_out(const EndJob& end);
  void send(const std::vector<Rank>& ranks, std::int64_t epoch, const messages::Message& message);
  void send_grants();
  /// Ends the job if the disk has not written a decision within kRecordLimit.
  void give_up_records();
  /// Removes a failed checkpoint's files; if the disk refuses, retries after the next commit.
  void remove(std::filesystem::path temporary);
  /// Removes unfinished checkpoints at the end, as far as the disk allows in kLastRemovals.
  void discard_unfinished();
  /// Queues the checkpoint for scoring, if the job wants a score.
  void score(std::int64_t step);
  void poll_scorer();
  /// Whether no score is under way any more, or the wait for it is over.
  [[nodiscard]] bool has_last_score() const;
  void end();
  /// Copies this host's snapshots after a failure, if worth keeping, on the disk's thread.
  void keep_snapshots();
  void on_keeping(Rank rank);
  /// Whether this process, or a worker on another host, is still copying snapshots.
  [[nodiscard]] bool is_keeping() const;
  void close_if_all_gone();
  void kill_stragglers();

  LoopParts parts_;
  /// Answers the command whose effects are under way.
  SteeringWritten when_recorded_;
  RunCore core_;
  boost::asio::steady_timer timer_;
  DiskThread disk_;
  DiskThread folders_;  ///< makes folders: a hanging commit does not delay leases
  DiskThread records_;  ///< writes decisions: a hanging commit does not delay them
  std::deque<std::chrono::steady_clock::time_point> recording_since_;  ///< of records under way
  std::deque<HeldGrant> grants_;
  std::chrono::steady_clock::time_point last_message_{};
  std::chrono::steady_clock::time_point next_beat_{};
  std::chrono::steady_clock::time_point next_status_{};
  std::chrono::steady_clock::time_point ended_at_{};
  std::chrono::steady_clock::time_point closing_since_{};  ///< or last progress of a keeper
  std::vector<std::filesystem::path> stale_files_;         ///< folders of failed checkpoints
  std::set<Rank> said_goodbye_;                            ///< ranks that answered a Stop
  std::set<Rank> saving_ranks_;  ///< ranks that copy, or have copied, snapshots
  /// Progress count of this process's snapshot copies, shared with the disk's thread. Null: it
  /// copies nothing (any more).
  std::shared_ptr<std::atomic<std::uint64_t>> copies_;
  std::uint64_t copies_seen_ = 0;
  /// Deadline of the last checkpoint's score; set from the job's end until the score.
  std::optional<std::chrono::steady_clock::time_point> scoring_ends_;
  int scores_to_show_ = 0;  ///< scores that the disk's thread is reading
  RunEnd end_;
  bool leaving_ = false;  ///< save-and-leave requested: a second SIGINT ends at once
  bool closing_ = false;
};

}  // namespace gangway::coordinator
