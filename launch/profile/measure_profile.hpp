// SPDX-License-Identifier: MIT
// `gangway profile`: measures what a job costs on this machine and writes it down. Main thread, as
// the first thing that its process does.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/environment.hpp"

namespace gangway::launch {

struct ProfileOptions {
  std::filesystem::path job;
  std::vector<std::string> overrides;
  std::filesystem::path output;    ///< empty: default_profile_file()
  double seconds = 20.0;           ///< about how long it measures, whatever the job is
  std::filesystem::path hostfile;  ///< hosts whose links are measured as well; empty: none
  bool anyway = false;             ///< on a machine that does other work, too
};

/// Prints the tables and writes the profile. @return exit code
/// @throws ConfigError for a job that cannot be measured here, EnvironmentError
[[nodiscard]] int measure_profile(const ProfileOptions& options, const Environment& environment);

}  // namespace gangway::launch
