// SPDX-License-Identifier: MIT
// Progressive growing of GANs (Karras et al., 2018, arXiv 1710.10196): networks with a block for
// each resolution from 4 pixels to the picture's, which come in one after the other as training
// goes on (job/models/growth_schedule.hpp). The generator's pictures have the final resolution at
// any time, and are bounded by nothing.
#pragma once

#include <cstdint>

#include "job/models/architecture.hpp"
#include "job/models/model_spec.hpp"

namespace gangway {

[[nodiscard]] Architecture progressive_generator(const ModelSpec& model);
[[nodiscard]] Architecture progressive_discriminator(const ModelSpec& model);

/// ModelFamily::feature_elements, of networks that are fully grown.
[[nodiscard]] std::int64_t progressive_feature_elements(const ModelSpec& model);

}  // namespace gangway
