// SPDX-License-Identifier: MIT
// Runs trials of `gangway tune`, each by a `gangway run` of its own. Main thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "job/spec.hpp"
#include "launch/process/environment.hpp"
#include "launch/tune/trial.hpp"

namespace gangway::launch {

/// The last line that a failed command has said of itself; all where it has said none.
[[nodiscard]] std::string reason_in(const std::string& words);

class TrialBench {
 public:
  struct Setup {
    std::filesystem::path job;
    std::vector<std::string> typed;  ///< overrides
    std::filesystem::path folder;    ///< absolute; of the runs, which are removed again
    const Environment& environment;
    std::filesystem::path hostfile;  ///< empty: none is named
    bool keeps_runs = false;
  };
  explicit TrialBench(Setup setup)
      : setup_(std::move(setup)),
        images_per_step_(static_cast<double>(job_of({}).images_per_step())) {}

  /// The job as this trial has it. @throws ConfigError
  [[nodiscard]] JobSpec job_of(const Trial& trial) const;
  /// Of all trials.
  [[nodiscard]] double images_per_step() const { return images_per_step_; }
  /// Runs it once, for about so long as `typed` took for `seconds`; where it fails, its `failure`
  /// says why. @throws Error where another digest than that of the other trials comes out
  void run(Trial& trial, double seconds);
  /// Runs the job as it was typed for the first time, which tells how long a step takes.
  /// @throws Error where it fails
  void begin(Trial& typed);
  /// Runs it once. @throws Error where it fails, or has another digest
  void run_steps(Trial& trial, std::int64_t steps);
  [[nodiscard]] const std::string& digest() const { return digest_; }  ///< of the last run
  /// Its folder, where they are kept.
  [[nodiscard]] const std::filesystem::path& last_run() const { return last_run_; }

 private:
  [[nodiscard]] std::vector<std::string> command(const Trial& trial, std::int64_t steps) const;
  void compare_digests(const Trial& trial, std::int64_t steps,
                       const std::filesystem::path& checkpoints);

  Setup setup_;
  double images_per_step_;
  double step_seconds_ = 0.0;  // of the job as it was typed
  int num_runs_ = 0;
  std::map<std::int64_t, std::string> digests_;  // by number of steps
  std::string digest_;
  std::filesystem::path last_run_;
};

}  // namespace gangway::launch
