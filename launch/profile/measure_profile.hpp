// SPDX-License-Identifier: MIT
// `gangway profile`: measures the costs of a job on this machine and writes a profile. Main thread;
// must run first in its process.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/environment.hpp"
#include "job/spec.hpp"
#include "worker/step/compute_device.hpp"

namespace gangway::launch {

struct ProfileOptions {
  std::filesystem::path job;
  std::vector<std::string> overrides;
  std::filesystem::path output;    ///< empty: default_profile_file()
  double seconds = 20.0;           ///< approximate duration of all measurements
  std::filesystem::path hostfile;  ///< hosts whose links are also measured; empty: none
  bool anyway = false;             ///< measure even if the machine does other work
};

/// Returns the job to measure. @throws ConfigError
[[nodiscard]] JobSpec profiled_job(const ProfileOptions& options, const Environment& environment);

/// Prints the tables and writes the profile. @return exit code
/// @param make  makes the job's compute device
/// @throws EnvironmentError
[[nodiscard]] int measure_profile(const ProfileOptions& options, const JobSpec& job,
                                  const Environment& environment, const worker::DeviceMaker& make);

}  // namespace gangway::launch
