// SPDX-License-Identifier: MIT
// Two small dense networks for points in the plane (Gulrajani et al., 2017, toy experiments).
#pragma once

#include "gan/models/discriminator_style.hpp"
#include "gan/network.hpp"
#include "job/spec.hpp"

namespace gangway::gan {

[[nodiscard]] Network mlp_generator(const ModelSpec& model);
[[nodiscard]] Network mlp_discriminator(const ModelSpec& model, const DiscriminatorStyle& style);

}  // namespace gangway::gan
