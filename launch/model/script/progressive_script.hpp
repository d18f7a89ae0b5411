// SPDX-License-Identifier: MIT
// The blocks of progressive growing as TorchScript, for
// launch/model/script/script_module.cpp: a network that computes what it does where it has grown
// to, for good. Compute thread only.
#pragma once

#include <string>

#include "gan/block.hpp"

namespace gangway::launch {

/// The lines of `block`, whose module is `self`: they take and leave `x`, and beside it `picture`
/// in a generator and `image` in a discriminator. A block that is not there yet does nothing; its
/// weights go along. Empty for a block that is none of theirs.
[[nodiscard]] std::string lines_of_progressive(const gan::Block& block, const std::string& self,
                                               double growth);

}  // namespace gangway::launch
