// SPDX-License-Identifier: MIT
// TorchScript of blocks, one function for each family. Called by
// launch/model/script/script_module.cpp. Compute thread only.
#pragma once

#include <string>

#include "gan/block.hpp"
#include "job/blocks/layer_spec.hpp"

namespace gangway::launch {

/// Attribute of a block's module that holds the constant noise, if gan::StyleLayer adds any.
inline constexpr const char* kConstantNoise = "constant_noise";

/// Returns the line that applies an activation to `x`; empty for none.
[[nodiscard]] std::string activation_line(Activation activation);

// Each function returns the lines of `block`, whose module is `self`; empty for blocks of another
// family. The lines read and write `x`, and each tensor that a comment names after "also".

/// BigGAN. Also `style`; they read `noise` and `labels`. They compute spectral norms as the block
/// does, and leave the stored directions unchanged.
[[nodiscard]] std::string lines_of_spectral(const gan::Block& block, const std::string& self);

/// GAT. Also `style` and `pictures`.
[[nodiscard]] std::string lines_of_transformer(const gan::Block& block, const std::string& self);

/// Progressive growing, fixed at the growth that the network has reached. Also `picture`
/// (generator) or `image` (discriminator). A block that has not grown in yet does nothing; the
/// module keeps its weights.
[[nodiscard]] std::string lines_of_progressive(const gan::Block& block, const std::string& self,
                                               double growth);

/// R3GAN.
[[nodiscard]] std::string lines_of_residual(const gan::Block& block, const std::string& self);

/// StyleGAN2. Also `styles` and `picture`.
[[nodiscard]] std::string lines_of_style(const gan::Block& block, const std::string& self);

/// Networks that transform pictures. Empty for feature networks, which return several tensors.
[[nodiscard]] std::string lines_of_transfer(const gan::Block& block, const std::string& self);

/// Picture-to-picture networks (gan/blocks/translation_blocks.hpp). They may read tensors that
/// earlier blocks stored by name.
[[nodiscard]] std::string lines_of_translation(const gan::Block& block, const std::string& self);

}  // namespace gangway::launch
