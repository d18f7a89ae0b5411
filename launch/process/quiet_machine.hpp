// SPDX-License-Identifier: MIT
// Whether a machine is quiet enough to be measured on. Called by what measures, main thread.
#pragma once

#include <chrono>
#include <string>

namespace gangway::launch {

/// More than this share of all cores used by others makes a figure worthless.
inline constexpr double kMostBusy = 0.10;

/// Share of all cores' time that was used, by anyone or stolen from this machine, between two reads
/// of the first line of /proc/stat. 0 where they say nothing. Pure.
[[nodiscard]] double busy_share(const std::string& before, const std::string& after);

/// The same over the next `duration`, which it sleeps.
[[nodiscard]] double busy_share_over(std::chrono::milliseconds duration);

/// What others do on this machine, watched for two seconds: "others use 31 % of this machine".
/// Empty: it is quiet.
[[nodiscard]] std::string work_of_others();

/// @param anyway  a busy machine is only told of, on standard error
/// @throws EnvironmentError when this machine does other work.
void require_quiet_machine(bool anyway);

}  // namespace gangway::launch
