// SPDX-License-Identifier: MIT
// Decides when a job must be ended from outside, by deadlines from mpirun's start to its end. A
// pure state machine: the supervisor passes in events of the tethers, /proc and the run directory,
// with their times.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "run/control_protocol.hpp"
#include "run/run_end.hpp"
#include "run/tether_protocol.hpp"

namespace gangway::launch {

struct WatchLimits {
  /// From mpirun's start to its first rank, and from a rank's greeting to its first beat while its
  /// program loads.
  std::chrono::milliseconds coming = kStartDeadline;
  /// From the first rank to the last, at least. A rank that takes much longer than the first died
  /// before its greeting.
  std::chrono::milliseconds spread{3'000};
  /// layout.timeout_seconds: for a rank that sends no beats, and for a stopped process.
  std::chrono::milliseconds silence{60'000};
  /// From a status that reports a lost rank to mpirun's end: mpirun waits for the daemon of a lost
  /// host.
  std::chrono::milliseconds after_loss{900};
  /// The same, counted from the last sign that snapshots are being written: saving them takes
  /// priority.
  std::chrono::milliseconds after_keeping{3'000};
  /// For the coordinator to name the lost rank, after it has all accusations.
  std::chrono::milliseconds for_verdict{3'000};
  /// From the job's status to mpirun's end; beyond it a rank hangs.
  std::chrono::milliseconds after_status{15'000};
  /// From the end of the last rank, or of the coordinator, to mpirun's end, for a finished job.
  /// after_early_end: for a job that ended early; a host, a daemon or a rank may be stopped.
  std::chrono::milliseconds after_ranks{2'000};
  std::chrono::milliseconds after_early_end{700};
};

/// A process of this host that is stopped: it neither runs nor has ended.
struct StoppedProcess {
  std::int64_t pid = 0;
  std::string program;
  std::optional<Rank> rank;  ///< that it is or becomes
};

class JobWatch {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  JobWatch(int ranks, TimePoint start, const WatchLimits& limits);

  /// Records a rank's greeting and its content.
  void greeted(const TetherGreeting& said, TimePoint now);
  void heard(Rank rank, TimePoint now);
  void settled(Rank rank);
  void gone(Rank rank, TimePoint now);
  /// Pauses the coordinator's silence limit: it waits for a disk, or for mpirun that does.
  void waits_for_disk(TimePoint now);
  /// Records the job's own end.
  void ended(int exit_code, TimePoint now);
  /// Records that the job has ended, but the coordinator still writes snapshots. The coordinator
  /// itself limits that time.
  void keeps_snapshots(TimePoint now) { saving_at_ = now; }
  /// Records all processes that are stopped now.
  void stopped(const std::vector<StoppedProcess>& processes, TimePoint now);
  /// Records that the user wants the job to save and leave.
  void asked_to_leave() { is_leaving_ = true; }

  /// True if some rank may still be in MPI_Init.
  [[nodiscard]] bool is_starting() const;
  /// True if the coordinator handles signals: it grants leases and saves.
  [[nodiscard]] bool is_led() const { return processes_.front().is_settled; }
  /// Returns why the job has to end now; an empty reason: the job itself has reported its end.
  [[nodiscard]] std::optional<RunEnd> check(TimePoint now) const;
  /// Names the coordinator as lost if it ended without a status.
  [[nodiscard]] std::optional<std::string> lost_coordinator() const;

 private:
  struct Process {
    std::string name;  ///< for messages
    std::int64_t pid = 0;
    std::optional<TimePoint> greeted;
    std::optional<TimePoint> heard;
    std::optional<TimePoint> gone;
    bool is_settled = false;
  };

  [[nodiscard]] std::optional<RunEnd> check_end(TimePoint now) const;
  // The other checks apply only before the job's own end.
  [[nodiscard]] std::optional<RunEnd> check_losses(TimePoint now) const;
  [[nodiscard]] std::optional<RunEnd> check_coming(TimePoint now) const;
  [[nodiscard]] std::optional<RunEnd> check_silence(TimePoint now) const;
  [[nodiscard]] std::optional<RunEnd> check_stopped(TimePoint now) const;
  [[nodiscard]] std::optional<TimePoint> all_gone_since() const;
  [[nodiscard]] Rank rank_of(const Process& process) const {
    return Rank(static_cast<int>(&process - processes_.data()));
  }
  Process& at(Rank rank) { return processes_.at(rank.place()); }

  WatchLimits limits_;
  TimePoint start_;
  std::vector<Process> processes_;  ///< by rank
  std::optional<TimePoint> first_;  ///< first greeting
  std::optional<TimePoint> disk_wait_at_;
  std::optional<TimePoint> ended_;
  std::optional<TimePoint> saving_at_;                                    ///< last sign
  int exit_code_ = 0;                                                     ///< valid after the end
  std::map<std::int64_t, std::pair<StoppedProcess, TimePoint>> stopped_;  ///< by pid
  bool is_leaving_ = false;
};

}  // namespace gangway::launch
