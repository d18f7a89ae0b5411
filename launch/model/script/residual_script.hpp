// SPDX-License-Identifier: MIT
// TorchScript of R3GAN's blocks. Called by launch/model/script/script_module.cpp. Compute thread.
#pragma once

#include <string>

#include "gan/block.hpp"

namespace gangway::launch {

/// Returns the TorchScript lines of `block`, whose module is `self`; they read and write `x`. Empty
/// for blocks that are not R3GAN's.
[[nodiscard]] std::string lines_of_residual(const gan::Block& block, const std::string& self);

}  // namespace gangway::launch
