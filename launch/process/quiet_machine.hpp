// SPDX-License-Identifier: MIT
// Checks that a machine is idle enough for measurements. Called by measuring commands, main thread.
#pragma once

#include <string>

namespace gangway::launch {

/// Returns the fraction of all cores' time that was used or stolen between two reads of the first
/// line of /proc/stat; 0 if these cannot be parsed. Pure.
[[nodiscard]] double busy_share(const std::string& before, const std::string& after);

/// Observes the machine for two seconds. @param anyway  only warn on standard error if it is busy
/// @throws EnvironmentError if this machine does other work
void require_quiet_machine(bool anyway);

}  // namespace gangway::launch
