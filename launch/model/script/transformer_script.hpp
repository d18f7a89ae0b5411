// SPDX-License-Identifier: MIT
// GAT's blocks as TorchScript, for launch/model/script/script_module.cpp. Compute thread only.
#pragma once

#include <string>

#include "gan/block.hpp"

namespace gangway::launch {

/// The lines of `block`, whose module is `self`: they take and leave `x`, and beside it `style` and
/// `pictures`. Empty for a block that is none of a transformer's.
[[nodiscard]] std::string lines_of_transformer(const gan::Block& block, const std::string& self);

}  // namespace gangway::launch
