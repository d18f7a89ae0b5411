// SPDX-License-Identifier: MIT
// The network of "Are GANs created equal?" (Lucic et al., 2018) after InfoGAN (Chen et al., 2016),
// for 28 pixels. It has 13 million parameters, most of them dense, so communication dominates.
#pragma once

#include "job/models/architecture.hpp"
#include "job/models/model_spec.hpp"

namespace gangway {

[[nodiscard]] Architecture infogan_generator(const ModelSpec& model);
[[nodiscard]] Architecture infogan_discriminator(const ModelSpec& model);

}  // namespace gangway
