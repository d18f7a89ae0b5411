// SPDX-License-Identifier: MIT
// The coordinator's one loop: feeds MPI messages, lifelines, signals and the clock to the Conductor
// and carries its effects out. Everything in it happens on the thread that calls run(), but for
// what waits for a disk: folders, commits, and what failed ones leave.
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

#include "coordinator/edges/checkpoint_scorer.hpp"
#include "coordinator/edges/disk_thread.hpp"
#include "coordinator/edges/lifeline_server.hpp"
#include "coordinator/edges/mpi_control.hpp"
#include "coordinator/edges/run_recorder.hpp"
#include "coordinator/mind/conductor.hpp"
#include "coordinator/resume/resume_choice.hpp"
#include "run/control/steering_file.hpp"
#include "run/tether.hpp"

namespace gangway::coordinator {

/// The parts that the loop ties together; all must outlive it.
struct LoopParts {
  boost::asio::io_context& io;
  boost::asio::signal_set& signals;
  MpiControl& mpi;
  LifelineServer& lifelines;
  RunRecorder& recorder;
  ResumeChoice& choice;
  CheckpointScorer& scorer;
  Tether& tether;
  std::function<void(JobStatus)> show_status = {};  ///< about once a second, where anybody is told
  /// Sees each effect before it is carried out.
  std::function<void(const Effect&)> watch = [](const Effect&) {};
};

class EventLoop {
 public:
  EventLoop(LoopParts parts, ConductorSettings settings);

  /// How the job stands. On the loop's thread, as what follows.
  [[nodiscard]] JobStatus status() const;
  /// What a person asks of it.
  /// @param answered  called once: at once where it is refused, else when the disk has the record
  /// of it, on the thread that writes
  void obey(const Command& command, const std::function<void(const CommandAnswer&)>& answered);

  /// Runs the job to its end. @return how it ended; not orderly: leave without MPI_Finalize.
  Outcome run();

 private:
  /// In the order in which they are to be sent.
  struct HeldGrant {
    std::int64_t epoch = 0;  ///< under which it was granted
    messages::Lease lease;
    bool is_ready = true;  ///< the folder of its checkpoint is there, or cannot be made
  };

  void wait_for_signal();
  void schedule_poll();
  void show_status();
  void poll();
  /// Shows workers and supervisor that this loop turns.
  void beat();
  /// Takes in the messages that have arrived, as many as it can. @return whether there were any.
  bool pump(std::chrono::milliseconds longest);
  void carry_out(const Effects& effects);
  void carry_out(const SendMessage& send);
  void carry_out(const ChooseResumePoint& question);
  /// Makes the checkpoint's folder first; leases that come after wait with it.
  void carry_out(const GrantLease& grant);
  void carry_out(const CommitCheckpoint& commit);
  void carry_out(const DiscardCheckpoint& discard);
  void carry_out(const ShowPlacement& placement);
  void carry_out(const ShowTick& tick);
  void carry_out(const ShowPicture& picture);
  void carry_out(const ScoreCheckpoint& checkpoint);
  /// Nothing follows of a decision before it is on the disk.
  void carry_out(const RecordDecisions& record);
  void carry_out(const KeepWatch& keep);
  void carry_out(const RecordSteering& record);
  void carry_out(const KeepCheckpoints& keep);
  void carry_out(const PinCheckpoint& pin);
  void carry_out(const BeginTrace& trace);
  void carry_out(const Say& say);
  void carry_out(const EndJob& end);
  void send(const std::vector<int>& ranks, std::int64_t epoch, const messages::Message& message);
  void send_grants();
  /// A disk that takes no decision for kRecordLimit ends the job.
  void give_up_records();
  /// Removes what a failed checkpoint left; where the disk refuses, again after the next commit.
  void remove(std::filesystem::path temporary);
  /// Of checkpoints that nobody writes any more, as far as a disk lets go of them in time.
  void discard_unfinished();
  /// Has the checkpoint scored, if the job wants that.
  void score(std::int64_t step);
  void poll_scorer();
  /// Nothing is being scored any more, or nobody waits for it.
  [[nodiscard]] bool has_last_score() const;
  void end();
  /// The run has failed: copies this host's snapshots, if they are worth it, on the disk's thread.
  void keep_snapshots();
  void on_keeping(int rank);
  /// Whether this process, or a worker on another host, is still at its snapshots.
  [[nodiscard]] bool is_keeping() const;
  void close_if_all_gone();
  void kill_stragglers();

  LoopParts parts_;
  /// Answers the command whose effects are being carried out.
  SteeringWritten when_recorded_;
  Conductor conductor_;
  boost::asio::steady_timer timer_;
  DiskThread disk_;
  DiskThread folders_;  ///< makes them: a commit that hangs keeps no lease
  DiskThread records_;  ///< decisions, likewise
  std::deque<std::chrono::steady_clock::time_point> recording_since_;  ///< of those under way
  std::deque<HeldGrant> grants_;
  std::chrono::steady_clock::time_point last_message_{};
  std::chrono::steady_clock::time_point next_beat_{};
  std::chrono::steady_clock::time_point next_status_{};
  std::chrono::steady_clock::time_point ended_at_{};
  std::chrono::steady_clock::time_point closing_since_{};  ///< or since a keeper got on
  std::vector<std::filesystem::path> unremoved_;           ///< folders of failed checkpoints
  std::set<int> said_goodbye_;                             ///< ranks that answered a Stop
  std::set<int> keepers_;  ///< ranks that copy, or have copied, snapshots
  /// Of this process's copies, shared with the disk's thread: how often they got on. Null: it
  /// copies nothing (any more).
  std::shared_ptr<std::atomic<std::uint64_t>> copies_;
  std::uint64_t copies_seen_ = 0;
  /// Set from the job's end to the last checkpoint's score.
  std::optional<std::chrono::steady_clock::time_point> scoring_ends_;
  int scores_to_show_ = 0;  ///< on the disk's thread
  Outcome outcome_;
  bool leaving_ = false;  ///< a save-and-leave was asked for: a second SIGINT ends at once
  bool closing_ = false;
};

}  // namespace gangway::coordinator
