// SPDX-License-Identifier: MIT
// Progressive growing of GANs (Karras et al., 2018, arXiv 1710.10196): a block for each resolution
// from 4 pixels to the picture's. Training adds the blocks one by one
// (job/models/growth_schedule.hpp). The generator's pictures always have the final resolution, and
// no tanh.
#pragma once

#include <cstdint>

#include "job/models/architecture.hpp"
#include "job/models/model_spec.hpp"

namespace gangway {

[[nodiscard]] Architecture progressive_generator(const ModelSpec& model);
[[nodiscard]] Architecture progressive_discriminator(const ModelSpec& model);

/// Returns ModelFamily::feature_elements of fully grown networks.
[[nodiscard]] std::int64_t progressive_feature_elements(const ModelSpec& model);

}  // namespace gangway
