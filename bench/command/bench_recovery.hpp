// SPDX-License-Identifier: MIT
// `gangway bench recovery`: kills processes of a real `gangway run`, which goes on by itself, and
// measures what each part of that takes. Main thread, and one that kills.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bench/command/recovery_watch.hpp"

namespace gangway::bench {

struct RecoveryOptions {
  std::filesystem::path job;  ///< that is disturbed; empty: one of this bench's, of `megabytes`
  std::vector<std::string> overrides;
  int megabytes = 50;  ///< of the state: weights, average, moments; 10^6 bytes
  int workers = 3;
  std::filesystem::path hostfile;  ///< of hosts whose processes this one may kill; empty: this host
  std::filesystem::path outdir;    ///< empty: a temporary folder
  std::vector<std::string> kinds{"worker", "coordinator", "mpirun"};  ///< in turns
  int losses = 30;
  /// From one loss to the next, for the goodput beside runs that nobody disturbs; 0: as soon as it
  /// trains again.
  double every_seconds = 0.0;
  unsigned seed = 1;
  bool anyway = false;
};

/// What each loss took, in their order. @throws Error, with the last words of a run that failed.
[[nodiscard]] std::vector<Recovery> measured_recoveries(const RecoveryOptions& options,
                                                        const std::filesystem::path& outdir);
/// @return exit code. @throws Error likewise
[[nodiscard]] int bench_recovery(const RecoveryOptions& options);

}  // namespace gangway::bench
