// SPDX-License-Identifier: MIT
#include "gan/grown_pictures.hpp"

#include <cmath>

#include "job/blocks/progressive/growth.hpp"

namespace gangway::gan {

at::Tensor as_grown(const at::Tensor& pictures, double growth) {
  if (growth == kFullyGrown || growth == std::floor(growth)) {
    return pictures;  // the discriminator reduces them to its resolution
  }
  const double share = growth - std::floor(growth);
  const std::int64_t side = kFirstSide << static_cast<int>(growth);  // the coarser side
  const at::Tensor coarse = at::upsample_nearest2d(
      at::avg_pool2d(pictures, pictures.size(2) / side), {pictures.size(2), pictures.size(3)});
  return coarse * (1.0 - share) + pictures * share;
}

}  // namespace gangway::gan
