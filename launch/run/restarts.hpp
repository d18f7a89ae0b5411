// SPDX-License-Identifier: MIT
// Restarts a supervised job after a rollback, a resize, or the loss of a process or a host.
// Called by `gangway run`.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>

#include "launch/run/recovery.hpp"
#include "launch/run/starts.hpp"
#include "launch/run/supervise.hpp"

namespace gangway::launch {

class Restarter {
 public:
  /// @param run  run directory. @param most  layout.restarts
  Restarter(Starts& starts, std::filesystem::path run, int most);

  /// Starts the job, repeatedly, until it has ended for good. @return exit code of `gangway run`
  [[nodiscard]] int supervise_all();

 private:
  /// Handles a lost process or host: reports the decision, also to the run's restarts.jsonl, and
  /// waits if needed. @return false: no start follows
  [[nodiscard]] bool go_on_after(const RunEnd& end, double ran_seconds);
  /// Retries `work` for minutes, because the run's disk may be full or briefly unavailable.
  /// @throws EnvironmentError
  static void once_disk_allows(const std::function<void()>& work);
  /// Notes signals that arrive between the job's end and the next decision.
  void note_signals() const;
  /// Waits, at most until a signal is noted.
  static void wait_for(std::chrono::milliseconds wait);
  /// Passes on noted signals; none can arrive between this call and the next start.
  /// @return true if a signal was noted
  [[nodiscard]] bool is_to_leave() const;
  [[nodiscard]] int leave() const;

  Starts& starts_;
  std::filesystem::path run_;
  Recovery recovery_;
  SupervisedJob job_;
};

}  // namespace gangway::launch
