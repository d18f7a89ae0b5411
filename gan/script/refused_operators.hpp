// SPDX-License-Identifier: MIT
// Operators that a network of the user's may not have: those that give other bits from call to
// call. Called where networks are made.
#pragma once

#include <string>

#include <torch/csrc/jit/api/module.h>

#include "job/spec.hpp"

namespace gangway::gan {

/// Why `module` may not be trained on `device`: its first operator of that kind, by name; empty: it
/// may. What no call can reach for the values that are constants does not count.
/// One that opens files counts anywhere.
[[nodiscard]] std::string refused_operator(const torch::jit::Module& module, DeviceKind device);

/// Why `module` may not be run at all: an operator that opens files by their names; empty: there is
/// none.
[[nodiscard]] std::string file_operator(const torch::jit::Module& module);

}  // namespace gangway::gan
