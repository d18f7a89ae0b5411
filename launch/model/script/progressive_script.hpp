// SPDX-License-Identifier: MIT
// TorchScript of the blocks of progressive growing, fixed at the growth that the network has
// reached. Called by launch/model/script/script_module.cpp. Compute thread only.
#pragma once

#include <string>

#include "gan/block.hpp"

namespace gangway::launch {

/// Returns the TorchScript lines of `block`, whose module is `self`; empty for other blocks. They
/// read and write `x`, and `picture` (generator) or `image` (discriminator). A block that has not
/// grown in yet does nothing; the module keeps its weights.
[[nodiscard]] std::string lines_of_progressive(const gan::Block& block, const std::string& self,
                                               double growth);

}  // namespace gangway::launch
