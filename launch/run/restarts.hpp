// SPDX-License-Identifier: MIT
// A supervised job that is started again: where its training was in trouble and goes back, where
// it was resized, and where a process or a host was lost. Called by `gangway run`.
#pragma once

#include <csignal>
#include <cstdint>
#include <filesystem>
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
  [[nodiscard]] int leave() const;

  Starts& starts_;
  std::filesystem::path run_;
  Recovery recovery_;
  SupervisedJob job_;
  sigset_t signals_before_{};
};

}  // namespace gangway::launch
