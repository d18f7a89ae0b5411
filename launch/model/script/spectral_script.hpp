// SPDX-License-Identifier: MIT
// TorchScript of BigGAN's blocks. Called by launch/model/script/script_module.cpp. Compute thread.
#pragma once

#include <string>

#include "gan/block.hpp"

namespace gangway::launch {

/// Returns the TorchScript lines of `block`, whose module is `self`; empty for blocks that are not
/// BigGAN's. They read and write `x` and `style`, and read `noise` and `labels`. They compute
/// spectral norms as the block does, and leave the stored directions unchanged.
[[nodiscard]] std::string lines_of_spectral(const gan::Block& block, const std::string& self);

}  // namespace gangway::launch
