// SPDX-License-Identifier: MIT
// What a run's log and files show of a loss and of what follows, seen from outside while it is
// written. One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>

namespace gangway::bench {

/// Seconds of one recovery, part after part.
struct Recovery {
  std::string kind;         ///< of process that was killed
  double fence = 0;         ///< from the kill until all that was left of the start had ended
  double start = 0;         ///< until the new coordinator speaks: mpirun, MPI
  double restore = 0;       ///< until all workers have their state
  double first_step = 0;    ///< until the first step, which was trained before, is done again
  double replay = 0;        ///< until the first step that is new is done
  std::int64_t redone = 0;  ///< steps trained twice
  [[nodiscard]] double before_replay() const { return fence + start + restore + first_step; }
};

class RecoveryWatch {
 public:
  using Clock = std::chrono::steady_clock;

  /// @param run  its directory. @param stop  where the run has ended
  RecoveryWatch(std::filesystem::path run, std::stop_token stop);

  /// Until `steps` more are done. @return false: the run has ended, or hangs
  [[nodiscard]] bool wait_for_steps(std::int64_t steps);
  /// The newest step done.
  [[nodiscard]] std::int64_t step() const { return step_; }
  /// Its process: "coordinator", "mpirun", or a worker's, by its rank, another one's
  /// where there are fewer by now; nothing: it is not there.
  [[nodiscard]] std::optional<pid_t> process_of(const std::string& kind, int rank) const;
  /// Kills it and waits until a new step is done. Nothing where the run has ended, or hangs.
  [[nodiscard]] std::optional<Recovery> kill_and_watch(const std::string& kind, int rank);

 private:
  /// Until the log has a line that begins so. @return when
  [[nodiscard]] std::optional<Clock::time_point> wait_for_line(const std::string& begin);
  /// The next line of the log that is there. Counts steps.
  [[nodiscard]] std::optional<std::string> next_line();

  std::filesystem::path run_;
  std::stop_token stop_;
  std::uintmax_t offset_ = 0;  ///< bytes of the log that were read
  std::string rest_;           ///< of them, without a line's end yet
  std::int64_t step_ = 0;
};

}  // namespace gangway::bench
