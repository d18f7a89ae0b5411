// SPDX-License-Identifier: MIT
// TorchScript of GAT's blocks. Called by launch/model/script/script_module.cpp. Compute thread.
#pragma once

#include <string>

#include "gan/block.hpp"

namespace gangway::launch {

/// Returns the TorchScript lines of `block`, whose module is `self`; they read and write `x`,
/// `style` and `pictures`. Empty for blocks that are not a transformer's.
[[nodiscard]] std::string lines_of_transformer(const gan::Block& block, const std::string& self);

}  // namespace gangway::launch
