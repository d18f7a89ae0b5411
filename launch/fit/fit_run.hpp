// SPDX-License-Identifier: MIT
// `gangway run JOB --fit`: finds changes with which a job fits this machine's memory, by running a
// few steps of it in a temporary folder. Main thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.hpp"
#include "job/spec.hpp"
#include "launch/fit/fit_to_memory.hpp"

namespace gangway::launch {

/// Returns the job to run: a few steps that need the peak memory of `job`. They include networks at
/// full size, snapshots, a checkpoint and pictures.
[[nodiscard]] JobSpec fit_job(const JobSpec& job);

/// Memory that the steps used.
struct Fit {
  std::vector<double> peak_gib;  ///< peak of each worker, by rank
  double most_used_gib = 0.0;    ///< sum over this machine's workers at their peaks
  double limit_gib = 0.0;        ///< 0: unknown
  std::string limit;             ///< "GPU", "control group" or "host"
  /// True if a tenth of the limit stays free, or if there is no limit.
  [[nodiscard]] bool fits() const;
};

/// @param stats  stats.jsonl of the run of fit_job, with `workers` workers on `device`
/// @throws EnvironmentError if the file records no memory
[[nodiscard]] Fit fit_of(std::string_view stats, int workers, DeviceKind device);

/// Returns a row for each worker, and the verdict: "fits", or a remedy to try.
/// @param expected_bytes  predicted for the largest worker, as `--dry-run` prints it
[[nodiscard]] std::string fit_text(const Fit& fit, const JobSpec& job, std::int64_t expected_bytes);

/// Returns the bytes that a job may be estimated to need, so that it fits when measured.
/// @param estimate  of the job that was measured. @pre the limit of `fit` is known
[[nodiscard]] std::int64_t fitting_estimate(const Fit& fit, std::int64_t estimate);

/// Measures the job. While it does not fit, measures the next change that does by the estimates,
/// scaled to what was measured. Prints the command that trains the job that fits.
/// @param asked  without open keys
/// @return 0: a job fits; 6: none does. @throws ConfigError; EnvironmentError if the steps fail,
/// with a remedy if they ran out of memory
[[nodiscard]] int fit_run(const JobSpec& asked, int workers, const FitQuestion& question,
                          const Environment& environment);

}  // namespace gangway::launch
