// SPDX-License-Identifier: MIT
// Checks that the pictures that a command names exist. Main thread.
#pragma once

#include <string>

namespace gangway::launch {

/// @param location  a folder, a file or a pattern of tars, as the user typed it
/// @throws ConfigError naming the first folder or file that does not exist
void require_there(const std::string& location);

}  // namespace gangway::launch
