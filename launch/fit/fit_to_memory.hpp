// SPDX-License-Identifier: MIT
// Predicts a job's memory, compares it with this machine's before a run, and changes the job where
// memory is known to lack. Main thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/environment.hpp"
#include "job/devices/device_facts.hpp"
#include "job/estimate/fit_memory.hpp"
#include "job/spec.hpp"

namespace gangway::launch {

/// The memory of a job's largest worker.
struct ExpectedMemory {
  std::int64_t bytes = 0;
  std::string rows;  ///< title and rows of a profile's measurement; empty: `bytes` is an estimate
};

/// Uses the profile of `job_file` if it matches `job` and the number of devices, like `gangway
/// plan`. Otherwise uses estimate_memory.
[[nodiscard]] ExpectedMemory expected_memory(const JobSpec& job,
                                             const std::filesystem::path& job_file, int workers);

struct KnownMemory : DeviceMemory {
  std::string of;  ///< "host", "control group", "GPU"
};

/// Returns the memory for the workers of a job on this host.
/// @param facts  give a GPU's memory if its driver does not
[[nodiscard]] KnownMemory known_memory(DeviceKind kind, const DeviceFacts& facts,
                                       const Environment& environment);

struct FitQuestion {
  std::filesystem::path job_file;  ///< whose profile, if it fits, replaces the estimate
  KnownMemory memory;
  std::set<std::string> given;  ///< as FitLimits::given
  int typed_workers = 0;        ///< 0: none
  bool is_asked = false;        ///< --fit: a tenth stays free, and micro-batches may change
  std::vector<std::string> changes = {};  ///< overrides that have been made, for --fit's command

  /// Returns the limits for find_fitting. @param workers  the job's
  [[nodiscard]] FitLimits limits(int workers) const;
};

struct FitAnswer {
  std::optional<FittingJob> found;  ///< the changed job; nullopt: none is needed, or none fits
  std::string line;  ///< for people; empty: the job fits as it is, or no limit is known
};

/// @param settled  the job, without open keys
[[nodiscard]] FitAnswer fit_to_memory(const JobSpec& settled, int workers,
                                      const FitQuestion& question);

/// Returns a line about the changes that turn `from` into `to`, which needs `found.needed_bytes`.
[[nodiscard]] std::string told_changes(const JobSpec& from, const FittingJob& found);

}  // namespace gangway::launch
