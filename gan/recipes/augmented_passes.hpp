// SPDX-License-Identifier: MIT
// Inserts augmentation between the pictures and the discriminator that judges them. Pure.
#pragma once

#include <vector>

#include "job/spec.hpp"
#include "pipeline/phases.hpp"

namespace gangway::gan {

/// Returns `phases` with augmented (training.augment) "real" and "fake" pictures for the
/// discriminator, its penalties and joins; real and generated pictures draw apart. Returns `phases`
/// unchanged for a job without augmentation.
///
/// Penalties use the gradient by augmented pictures. (StyleGAN2-ADA's code takes R1 by pictures
/// before augmentation.)
[[nodiscard]] std::vector<pipeline::Phase> with_augmentation(const Job& job,
                                                             std::vector<pipeline::Phase> phases);

}  // namespace gangway::gan
