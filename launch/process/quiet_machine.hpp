// SPDX-License-Identifier: MIT
// Whether a machine is quiet enough to be measured on. Called by what measures, main thread.
#pragma once

#include <string>

namespace gangway::launch {

/// Share of all cores' time that was used, by anyone or stolen from this machine, between two reads
/// of the first line of /proc/stat. 0 where they say nothing. Pure.
[[nodiscard]] double busy_share(const std::string& before, const std::string& after);

/// Looks for two seconds. @param anyway  a busy machine is only told of, on standard error
/// @throws EnvironmentError when this machine does other work.
void require_quiet_machine(bool anyway);

}  // namespace gangway::launch
