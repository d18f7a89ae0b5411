// SPDX-License-Identifier: MIT
// When a job must be ended from outside: deadlines from the moment mpirun starts to the moment it
// has ended. A pure state machine, fed by the supervisor with what the tethers, /proc and the run
// directory show, and with the time at which they did.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/errors.hpp"
#include "run/control_protocol.hpp"
#include "run/tether_protocol.hpp"

namespace gangway::launch {

struct WatchLimits {
  /// From mpirun's start to its first rank; from a rank's first sign to its first beat, while its
  /// program is being loaded.
  std::chrono::milliseconds coming = kStartDeadline;
  /// From the first rank to the last, at least. One that is slower to come than the first was by
  /// far died before it could say a word.
  std::chrono::milliseconds spread{3'000};
  /// layout.timeout_seconds: of a rank that owes beats, and of a process that is stopped.
  std::chrono::milliseconds silence{60'000};
  /// From a status that tells of a lost rank to the end of all: mpirun waits for the daemon of a
  /// host that is gone.
  std::chrono::milliseconds after_loss{900};
  /// The same, from the last sign that snapshots were on their way to the disk: that is worth more
  /// than an early end.
  std::chrono::milliseconds after_keeping{3'000};
  /// For the coordinator to name the lost rank, once it has heard all accusations.
  std::chrono::milliseconds for_verdict{3'000};
  /// mpirun still there so long after the job's status: a rank hangs.
  std::chrono::milliseconds after_status{15'000};
  /// mpirun still there so long after the last rank, or after the coordinator: of a job that is
  /// done, and of one that ended early, where a host, a daemon or a rank may be stopped.
  std::chrono::milliseconds after_ranks{2'000};
  std::chrono::milliseconds after_early_end{700};
};

/// The job is to be ended now.
struct Verdict {
  ExitCode code = ExitCode::kWorkerLost;
  std::string reason;  ///< one line; empty: the job itself has said how it ends
  int rank = 0;        ///< of the worker that was lost; 0: none, or it is not known
};

/// A process of this host that neither runs nor has ended.
struct StoppedProcess {
  std::int64_t pid = 0;
  std::string program;
  std::optional<int> rank;  ///< that it is, or becomes
};

class JobWatch {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  JobWatch(int ranks, TimePoint start, const WatchLimits& limits);

  /// A rank's first sign, and what it says of itself.
  void greeted(const TetherGreeting& said, TimePoint now);
  void heard(int rank, TimePoint now);
  void settled(int rank);
  void gone(int rank, TimePoint now);
  /// The coordinator waits for a disk, or for mpirun that does: no silence of its own, for a while.
  void waits_for_disk(TimePoint now);
  /// The job has recorded its end.
  void ended(int exit_code, TimePoint now);
  /// It has ended, and the coordinator is still there: snapshots are on their way to the disk. It
  /// sees to it that they get on.
  void keeps_snapshots(TimePoint now) { keeping_ = now; }
  /// All that are stopped at this moment.
  void stopped(const std::vector<StoppedProcess>& processes, TimePoint now);
  /// The user wants the job to save and leave.
  void asked_to_leave() { is_leaving_ = true; }

  /// Whether some rank may still be on its way through MPI_Init.
  [[nodiscard]] bool is_starting() const;
  /// Whether the coordinator answers signals: it grants leases and saves.
  [[nodiscard]] bool is_led() const { return ranks_.front().is_settled; }
  [[nodiscard]] std::optional<Verdict> check(TimePoint now) const;
  /// Names the coordinator as lost, when it has gone without a status.
  [[nodiscard]] std::optional<std::string> lost_coordinator() const;

 private:
  struct Rank {
    std::string name;  ///< for messages
    std::int64_t pid = 0;
    std::optional<TimePoint> greeted;
    std::optional<TimePoint> heard;
    std::optional<TimePoint> gone;
    bool is_settled = false;
  };

  [[nodiscard]] std::optional<Verdict> check_end(TimePoint now) const;
  [[nodiscard]] std::optional<Verdict> check_losses(TimePoint now) const;
  [[nodiscard]] std::optional<Verdict> check_coming(TimePoint now) const;
  [[nodiscard]] std::optional<Verdict> check_silence(TimePoint now) const;
  [[nodiscard]] std::optional<Verdict> check_stopped(TimePoint now) const;
  [[nodiscard]] std::optional<TimePoint> all_gone_since() const;
  [[nodiscard]] int number_of(const Rank& rank) const {
    return static_cast<int>(&rank - ranks_.data());
  }
  Rank& at(int rank) { return ranks_.at(static_cast<std::size_t>(rank)); }

  WatchLimits limits_;
  TimePoint start_;
  std::vector<Rank> ranks_;
  std::optional<TimePoint> first_;  ///< greeting
  std::optional<TimePoint> at_disk_;
  std::optional<TimePoint> ended_;
  std::optional<TimePoint> keeping_;                                      ///< seen last
  int exit_code_ = 0;                                                     ///< once it has ended
  std::map<std::int64_t, std::pair<StoppedProcess, TimePoint>> stopped_;  ///< by pid
  bool is_leaving_ = false;
};

}  // namespace gangway::launch
