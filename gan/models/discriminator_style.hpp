// SPDX-License-Identifier: MIT
// What a job may vary in any discriminator.
#pragma once

#include "gan/layer_block.hpp"

namespace gangway::gan {

struct DiscriminatorStyle {
  bool batch_norm = true;
  ActivationKind activation = ActivationKind::kLeakyRelu;
  double dropout = 0.0;
};

}  // namespace gangway::gan
