// SPDX-License-Identifier: MIT
// What is worth a word before a job is started, or instead of that. Called by `gangway run`.
#pragma once

#include <string>
#include <vector>

namespace gangway::launch {

/// Prints a line each.
void tell_notes(const std::vector<std::string>& notes);

}  // namespace gangway::launch
