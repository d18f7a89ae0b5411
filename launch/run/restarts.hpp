// SPDX-License-Identifier: MIT
// A supervised job that is started again: where its training was in trouble and goes back, where
// it was resized, and where a process or a host was lost. Called by `gangway run`.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "launch/run/recovery.hpp"
#include "launch/run/starts.hpp"
#include "launch/run/supervise.hpp"

namespace gangway::launch {

class Restarter {
 public:
  /// @param run  its directory. @param most  layout.restarts
  Restarter(Starts& starts, std::filesystem::path run, int most);

  /// Starts the job, and again, until it has ended for good. @return exit code of `gangway run`
  [[nodiscard]] int supervise_all();

 private:
  /// A process or a host was lost: tells what follows, in the run's restarts.jsonl too, and waits
  /// where it is to. @return false: nothing follows
  [[nodiscard]] bool go_on_after(const SupervisedEnd& end, double ran_seconds);
  /// Tries it for minutes: the run's disk may be full, or away for a moment. @throws
  /// EnvironmentError
  static void once_disk_allows(const std::function<void()>& work);
  /// Has signals of a job noted, from its end until what is next is decided.
  void note_signals() const;
  /// Waits, and no longer than until one is noted.
  static void wait_for(std::chrono::milliseconds wait);
  /// Hands noted signals over: none comes between this and the next start.
  /// @return whether one has come
  [[nodiscard]] bool is_to_leave() const;
  [[nodiscard]] int leave() const;

  Starts& starts_;
  std::filesystem::path run_;
  Recovery recovery_;
  SupervisedJob job_;
};

}  // namespace gangway::launch
