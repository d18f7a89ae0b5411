// SPDX-License-Identifier: MIT
// The blocks of a network that changes pictures as TorchScript, for
// launch/model/script/script_module.cpp. Compute thread only.
#pragma once

#include <string>

#include "gan/block.hpp"

namespace gangway::launch {

/// The lines of `block`, whose module is `self`: they take and leave `x`. Empty for another block;
/// a feature network, which makes several tensors, has none.
[[nodiscard]] std::string lines_of_transfer(const gan::Block& block, const std::string& self);

}  // namespace gangway::launch
