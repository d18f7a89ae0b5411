// SPDX-License-Identifier: MIT
// Augmentation between what makes pictures and the discriminator that judges them. Pure.
#pragma once

#include <vector>

#include "job/spec.hpp"
#include "pipeline/phases.hpp"

namespace gangway::gan {

/// `phases` of which the discriminator, its penalties and joins see "real" and "fake" pictures only
/// as the job augments them (training.augment): real and generated ones draw apart. Those of a job
/// that does not are given back as they are.
///
/// Penalties look at the gradient with respect to augmented pictures. (The code of StyleGAN2-ADA
/// takes R1 with respect to pictures before augmentation.)
[[nodiscard]] std::vector<pipeline::Phase> with_augmentation(const Job& job,
                                                             std::vector<pipeline::Phase> phases);

}  // namespace gangway::gan
