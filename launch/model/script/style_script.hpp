// SPDX-License-Identifier: MIT
// TorchScript of StyleGAN2's blocks. Called by launch/model/script/script_module.cpp. Compute
// thread only.
#pragma once

#include <string>

#include "gan/block.hpp"

namespace gangway::launch {

/// Attribute of a block's module that holds the constant noise, if gan::StyleLayer adds any.
inline constexpr const char* kConstantNoise = "constant_noise";

/// Returns the TorchScript lines of `block`, whose module is `self`; they read and write `x`,
/// `styles` and `picture`. Empty for blocks that are not StyleGAN2's.
[[nodiscard]] std::string lines_of_style(const gan::Block& block, const std::string& self);

}  // namespace gangway::launch
