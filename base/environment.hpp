// SPDX-License-Identifier: MIT
// The only reader of a process's environment as a whole.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace gangway {

/// Values by name.
using Environment = std::map<std::string, std::string>;

/// All variables of this process. Called at the start, before any thread could change one.
[[nodiscard]] Environment read_environment();

/// Whether the variable has a library choose other kernels, so that numbers may have other bits:
/// all workers of a run need the same ones.
[[nodiscard]] bool moves_kernels(std::string_view name);

/// Those whose name begins with GANGWAY_.
[[nodiscard]] Environment gangway_variables(Environment environment);

}  // namespace gangway
