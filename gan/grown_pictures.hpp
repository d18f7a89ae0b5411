// SPDX-License-Identifier: MIT
// Real pictures for networks that grow: while a resolution fades in, they are mixed from two as the
// generator's are (progressive growing, Karras et al., 2018, figure 2). Compute thread only.
#pragma once

#include "gan/torch.hpp"

namespace gangway::gan {

/// @param pictures  [N, channels, H, H]; given back as they are, where no resolution fades in
/// @param growth    job/blocks/progressive/growth.hpp
[[nodiscard]] at::Tensor as_grown(const at::Tensor& pictures, double growth);

}  // namespace gangway::gan
