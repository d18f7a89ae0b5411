// SPDX-License-Identifier: MIT
// StyleGAN2's blocks as TorchScript, for launch/model/script/script_module.cpp. Compute thread
// only.
#pragma once

#include <string>

#include "gan/block.hpp"

namespace gangway::launch {

/// Under this name a block's module has the noise that it adds, where gan::StyleLayer has some.
inline constexpr const char* kConstantNoise = "constant_noise";

/// The lines of `block`, whose module is `self`: they take and leave `x`, and beside it `styles`
/// and `picture`. Empty for a block that is none of StyleGAN2's.
[[nodiscard]] std::string lines_of_style(const gan::Block& block, const std::string& self);

}  // namespace gangway::launch
