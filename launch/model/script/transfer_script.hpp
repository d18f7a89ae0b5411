// SPDX-License-Identifier: MIT
// TorchScript of the blocks of a network that transforms pictures. Called by
// launch/model/script/script_module.cpp. Compute thread only.
#pragma once

#include <string>

#include "gan/block.hpp"

namespace gangway::launch {

/// Returns the TorchScript lines of `block`, whose module is `self`; they read and write `x`. Empty
/// for other blocks, and for feature networks, which return several tensors.
[[nodiscard]] std::string lines_of_transfer(const gan::Block& block, const std::string& self);

}  // namespace gangway::launch
