// SPDX-License-Identifier: MIT
// The only reader of a process's environment as a whole.
#pragma once

#include <map>
#include <string>

namespace gangway {

/// Values by name.
using Environment = std::map<std::string, std::string>;

/// All variables of this process. Called at the start, while nobody changes one.
[[nodiscard]] Environment read_environment();

/// Those whose name begins with GANGWAY_.
[[nodiscard]] Environment gangway_variables(Environment environment);

}  // namespace gangway
