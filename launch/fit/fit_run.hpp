// SPDX-License-Identifier: MIT
// `gangway run JOB --fit`: whether a job fits the memory of this machine, by a few steps of the
// real run in a temporary folder. Main thread.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.hpp"
#include "job/spec.hpp"

namespace gangway::launch {

/// The job that is run: a few steps of `job`, with all that takes memory at some time or other in
/// them: networks that grow as large as they become, snapshots, a checkpoint, pictures.
[[nodiscard]] JobSpec fit_job(const JobSpec& job);

/// What the steps have shown.
struct Fit {
  std::vector<double> peak_gib;  ///< most that each worker has had, by rank
  double most_used_gib = 0.0;    ///< of the limit, with all workers of this machine at their peaks
  double limit_gib = 0.0;        ///< 0: unknown
  std::string limit;             ///< "GPU", "control group" or "host"
  /// With a tenth of the limit to spare; without a limit it does.
  [[nodiscard]] bool fits() const;
};

/// @param stats  stats.jsonl of that run, of so many workers on that kind of device
/// @throws EnvironmentError where it tells no memory
[[nodiscard]] Fit fit_of(std::string_view stats, int workers, DeviceKind device);

/// A row a worker, and the verdict: "fits", or what to try next.
/// @param expected_bytes  of the worker that needs most, as `--dry-run` says
[[nodiscard]] std::string fit_text(const Fit& fit, const JobSpec& job, std::int64_t expected_bytes);

/// @return 0: it fits; 6: it does not. @throws ConfigError; EnvironmentError where the steps fail,
/// with the next thing to try where that was for want of memory
[[nodiscard]] int fit_run(const std::filesystem::path& job_file, const JobSpec& job, int workers,
                          const Environment& environment);

}  // namespace gangway::launch
