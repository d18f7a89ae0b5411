// SPDX-License-Identifier: MIT
// BigGAN's blocks as TorchScript, for launch/model/script/script_module.cpp. Compute thread only.
#pragma once

#include <string>

#include "gan/block.hpp"

namespace gangway::launch {

/// The lines of `block`, whose module is `self`: they take and leave `x`, and beside it `style`;
/// they take `noise` and `labels`. Spectral norms are computed as the block does, from the
/// directions that are there, which stay as they are. Empty for a block that is none of BigGAN's.
[[nodiscard]] std::string lines_of_spectral(const gan::Block& block, const std::string& self);

}  // namespace gangway::launch
