// SPDX-License-Identifier: MIT
// Reads the whole environment of this process. No other code reads it as a whole.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace gangway {

/// Values by name.
using Environment = std::map<std::string, std::string>;

/// Returns all variables of this process. Call at the start, before a thread could change them.
[[nodiscard]] Environment read_environment();

/// Whether the variable makes a library choose other kernels, which may change bits of results.
/// All workers of a run need the same values of such variables.
[[nodiscard]] bool moves_kernels(std::string_view name);

/// Returns the variables whose names begin with GANGWAY_.
[[nodiscard]] Environment gangway_variables(Environment environment);

}  // namespace gangway
