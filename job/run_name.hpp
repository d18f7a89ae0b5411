// SPDX-License-Identifier: MIT
// Makes and checks names of runs.
#pragma once

#include <filesystem>
#include <string>

namespace gangway {

/// Returns a valid run name made from the job file's stem; `job` if nothing usable is left.
[[nodiscard]] std::string run_name_of(const std::filesystem::path& job_file);

/// @throws ConfigError unless `name` is 1 to 64 of A-Z a-z 0-9 . _ - and does not begin with a dot.
void require_run_name(const std::string& name);

}  // namespace gangway
