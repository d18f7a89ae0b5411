// SPDX-License-Identifier: MIT
// DCGAN (Radford et al., 2015) for 32 and 64 pixels, plain or with labels.
#pragma once

#include "gan/models/discriminator_style.hpp"
#include "gan/network.hpp"
#include "job/spec.hpp"

namespace gangway::gan {

[[nodiscard]] Network dcgan_generator(const ModelSpec& model);
[[nodiscard]] Network dcgan_discriminator(const ModelSpec& model, const DiscriminatorStyle& style);

}  // namespace gangway::gan
