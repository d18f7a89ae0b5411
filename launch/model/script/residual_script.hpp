// SPDX-License-Identifier: MIT
// R3GAN's blocks as TorchScript, for launch/model/script/script_module.cpp. Compute thread only.
#pragma once

#include <string>

#include "gan/block.hpp"

namespace gangway::launch {

/// The lines of `block`, whose module is `self`: they take and leave `x`. Empty for a block that is
/// none of R3GAN's.
[[nodiscard]] std::string lines_of_residual(const gan::Block& block, const std::string& self);

}  // namespace gangway::launch
