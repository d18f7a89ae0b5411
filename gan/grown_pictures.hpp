// SPDX-License-Identifier: MIT
// Real pictures for growing networks. While a resolution fades in, they are mixed from two
// resolutions, as the generator mixes its own (Karras et al., 2018, figure 2). Compute thread only.
#pragma once

#include "gan/torch.hpp"

namespace gangway::gan {

/// @param pictures  [N, channels, H, H]; returned unchanged if no resolution fades in
/// @param growth    level of growth (job/blocks/progressive/growth.hpp)
[[nodiscard]] at::Tensor as_grown(const at::Tensor& pictures, double growth);

}  // namespace gangway::gan
