// SPDX-License-Identifier: MIT
// `gangway profile`: measures what a job costs on this machine and writes it down. Main thread, as
// the first thing that its process does.
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
  double seconds = 20.0;           ///< about how long it measures, whatever the job is
  std::filesystem::path hostfile;  ///< hosts whose links are measured as well; empty: none
  bool anyway = false;             ///< on a machine that does other work, too
};

/// The job that is to be measured. @throws ConfigError
[[nodiscard]] JobSpec profiled_job(const ProfileOptions& options, const Environment& environment);

/// Prints the tables and writes the profile. @return exit code
/// @param make  the device that the job computes on
/// @throws EnvironmentError
[[nodiscard]] int measure_profile(const ProfileOptions& options, const JobSpec& job,
                                  const Environment& environment, const worker::DeviceMaker& make);

}  // namespace gangway::launch
