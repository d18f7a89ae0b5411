// SPDX-License-Identifier: MIT
// A command as a child that shares this process's terminal. Called by `gangway bench`, main thread.
#pragma once

#include <string>
#include <vector>

namespace gangway::launch {

/// Runs `words` to its end. A Ctrl-C reaches it as it reaches this process, which waits for it; it
/// gets SIGTERM when this process dies.
/// @return its exit code, or 128 and the signal that ended it.
/// @throws EnvironmentError when it cannot be started.
[[nodiscard]] int run_child(const std::vector<std::string>& words);

}  // namespace gangway::launch
