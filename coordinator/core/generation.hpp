// SPDX-License-Identifier: MIT
// One start's workers under one epoch, layout and resume point: which have joined, what they may do
// and have done, what they save, and which of them fail. Pure; driven by RunCore.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "coordinator/core/blame.hpp"
#include "coordinator/core/checkpoint_ledger.hpp"
#include "coordinator/core/decide.hpp"
#include "coordinator/core/effects.hpp"
#include "coordinator/core/lease_book.hpp"
#include "coordinator/core/membership.hpp"
#include "coordinator/core/progress_watch.hpp"
#include "coordinator/core/snapshot_tracker.hpp"
#include "coordinator/core/tick_accounting.hpp"
#include "coordinator/resume/resume_protocol.hpp"
#include "coordinator/steering/job_status.hpp"
#include "coordinator/steering/settable_keys.hpp"
#include "coordinator/trouble/early_memory_check.hpp"
#include "job/spec.hpp"
#include "run/messages/messages.hpp"

namespace gangway::coordinator {

struct GenerationSettings {
  int num_workers = 1;
  std::string build;          ///< the coordinator's own: base/build_id.hpp
  JobSpec job;                ///< as in the job file
  messages::Welcome welcome;  ///< sent to each worker after the epoch is filled in
  LeasePlan leases;
  TickPlan ticks;
  SnapshotPace snapshots;
  MembershipLimits limits;
  /// Arithmetic of the previous start, if `gangway run` restarted the same command after a loss, a
  /// rollback or a resize.
  std::optional<messages::Arithmetic> arithmetic_before;
  /// As Hello::shared_memory: the memory whose snapshots rank 0 copies to the disk when the run
  /// fails. Elsewhere workers copy them. Nothing: no process copies snapshots.
  std::optional<std::uint64_t> copied_by_rank_0;
  /// Shortest time without a step that is a fault; ten times as long before the first step.
  std::chrono::milliseconds progress_floor{60'000};
  /// Duration of a checkpoint, beside the training, from which a warning is printed.
  std::chrono::milliseconds save_alarm{60'000};
  /// Shortest time without a byte on the disk that is a fault, at the end of the run.
  std::chrono::milliseconds save_floor{600'000};
};

class Generation {
 public:
  /// Effects of a message, and the sender's fault if it must end the job.
  struct Reply {
    Effects effects = {};
    std::optional<Fault> fault = {};
  };

  Generation(GenerationSettings settings, TimePoint start);

  // Until all workers are ready.
  [[nodiscard]] Reply take(Rank rank, const messages::Hello& hello);
  [[nodiscard]] Effects take(Rank rank, const messages::Inventory& inventory);
  [[nodiscard]] Effects take(Rank rank, const messages::Loading& loading, TimePoint now);
  [[nodiscard]] Effects take(Rank rank, const messages::Unloadable& unloadable);
  [[nodiscard]] std::optional<Fault> take(Rank rank, const messages::Ready& ready);
  /// Proposes `point` to all workers.
  [[nodiscard]] Effects begin_with(const ResumePoint& point);
  /// Begins to train if all workers are ready and compute alike; nothing: they are not, or it has
  /// begun.
  [[nodiscard]] std::optional<Reply> begin_if_ready(TimePoint now);

  // While it trains.
  /// Returns the leases to grant now, without changes and traces.
  [[nodiscard]] std::vector<GrantLease> grant(TimePoint now);
  /// Uses what a worker reported with its step: durations, snapshots, skipped updates.
  [[nodiscard]] Effects use(Rank rank, const messages::Progress& progress, TimePoint now);
  /// Checks, until the first tick, whether the memory that a worker reported will be enough.
  [[nodiscard]] Effects look_at_memory(Rank rank, const messages::MemoryFigures& memory);
  void first_tick_is_there() { early_memory_.end(); }
  void set_plan(const SteeredPlan& plan);
  void end_at(std::int64_t step);
  void committed(std::int64_t step, TimePoint now);
  [[nodiscard]] Effects save_failed(std::int64_t step, const std::string& reason);
  void complain(Rank rank, const messages::Stop& stop, TimePoint now);

  // By the clock.
  /// Extends all deadlines if the coordinator itself did not run for a second or more.
  void forgive_own_stall(TimePoint now);
  [[nodiscard]] std::optional<Fault> find_fault(TimePoint now);
  /// Notes slow workers, slow disks and a slow start, and sends Patience to workers that wait for a
  /// lease.
  [[nodiscard]] Effects look_after(TimePoint now);

  /// Fills in the facts of the start. @param trouble_step  first step that is void, if any
  [[nodiscard]] View view(std::optional<std::int64_t> trouble_step) const;
  /// Fills in the start's workers, figures and states.
  void describe(JobStatus& status, TimePoint now) const;
  /// Step of the snapshot that all workers have, if it is newer than any checkpoint.
  [[nodiscard]] std::optional<std::int64_t> unsaved_snapshot() const;
  /// Step of this start's newest checkpoint, or of the one that it began with.
  [[nodiscard]] std::int64_t saved_step() const;
  /// Returns the duration of the remaining steps; nothing: no step's duration is known yet.
  [[nodiscard]] std::optional<std::chrono::duration<double>> until_end() const;

  [[nodiscard]] const GenerationSettings& settings() const { return settings_; }
  [[nodiscard]] Membership& membership() { return membership_; }
  [[nodiscard]] const Membership& membership() const { return membership_; }
  [[nodiscard]] LeaseBook& leases() { return leases_; }
  [[nodiscard]] const LeaseBook& leases() const { return leases_; }
  [[nodiscard]] CheckpointLedger& ledger() { return ledger_; }
  [[nodiscard]] TickAccounting& ticks() { return ticks_; }
  [[nodiscard]] const TickAccounting& ticks() const { return ticks_; }
  [[nodiscard]] ProgressWatch& watch() { return watch_; }
  [[nodiscard]] const ProgressWatch& watch() const { return watch_; }
  [[nodiscard]] bool has_begun() const { return has_begun_; }
  /// Steps done when the start began.
  [[nodiscard]] std::int64_t begin_step() const { return point_.step; }

 private:
  [[nodiscard]] std::optional<Fault> check_progress(TimePoint now) const;
  /// Fails if all workers left and the manifest of the last checkpoint hangs.
  [[nodiscard]] std::optional<Fault> check_last_manifest(TimePoint now);
  /// Prints a note about workers that hold up other workers, once for each step. Slow workers are
  /// never killed.
  [[nodiscard]] Effects name_late_workers(TimePoint now);
  /// Prints every few seconds what the start waits for, until its first tick.
  [[nodiscard]] Effects tell_of_start(TimePoint now);
  /// Sends Patience to workers that wait for a lease, because a score may take longer than their
  /// limit: its checkpoint must be on the disk first, after any earlier scores.
  [[nodiscard]] Effects comfort_waiting_workers(TimePoint now);
  /// Returns the time allowed to a rank beyond the usual silence, such as for its disk; nothing:
  /// the rank is not expected to make progress.
  [[nodiscard]] std::optional<std::chrono::milliseconds> time_beyond(Rank rank) const;
  /// Whether a rank only has to write its last file.
  [[nodiscard]] bool is_writing_its_last(Rank rank) const;
  /// Whether a checkpoint before `step` is under way and can still become complete.
  [[nodiscard]] bool saves_before(std::int64_t step) const;
  [[nodiscard]] std::vector<WorkerStatus> worker_statuses() const;

  struct NewestReady {
    messages::Ready message;
    Rank rank{};  ///< its sender
  };

  GenerationSettings settings_;
  Membership membership_;
  ResumeProtocol resume_protocol_;
  ResumePoint point_;
  LeaseBook leases_;
  CheckpointLedger ledger_;
  SnapshotTracker snapshots_;
  TickAccounting ticks_;
  ProgressWatch watch_;
  Blame blame_;
  EarlyMemoryCheck early_memory_;
  TimePoint began_at_;
  TimePoint last_clock_;
  std::optional<TimePoint> held_since_;    ///< since workers wait, or were last sent Patience
  std::optional<TimePoint> committed_at_;  ///< of this start's newest checkpoint
  std::optional<TimePoint> all_left_;      ///< since only the last manifest is missing
  NewestReady ready_;
  TimePoint told_of_start_;           ///< of the newest line about the start, or its beginning
  std::int64_t told_late_step_ = -1;  ///< step of the newest note about late workers
  bool has_begun_ = false;            ///< the first lease is granted
};

}  // namespace gangway::coordinator
