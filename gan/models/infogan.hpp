// SPDX-License-Identifier: MIT
// The network of "Are GANs created equal?" (Lucic et al., 2018) after InfoGAN (Chen et al., 2016),
// for 28 pixels: 13 million parameters, most of them dense, so the communication-heavy case.
#pragma once

#include "gan/models/discriminator_style.hpp"
#include "gan/network.hpp"
#include "job/spec.hpp"

namespace gangway::gan {

[[nodiscard]] Network infogan_generator(const ModelSpec& model);
[[nodiscard]] Network infogan_discriminator(const ModelSpec& model,
                                            const DiscriminatorStyle& style);

}  // namespace gangway::gan
