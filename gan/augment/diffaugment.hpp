// SPDX-License-Identifier: MIT
// DiffAugment (Zhao et al., 2020, "Differentiable augmentation for data-efficient GAN training",
// section 3.2 and the authors' code): colour, translation and cutout, applied to every picture.
// Compute thread.
#pragma once

#include "gan/random.hpp"
#include "gan/torch.hpp"
#include "job/augmentation.hpp"

namespace gangway::gan {

/// Augments `pictures` [N, C, S, S] by the chosen `kinds`, in this order:
/// - color: brightness + U(-0.5, 0.5), saturation times U(0, 2) around the mean of the channels;
///   contrast times U(0.5, 1.5) around the picture's mean;
/// - translation by whole pixels, up to an eighth of the side each way, filled with zeros;
/// - cutout of a square of half the side, whose centre is anywhere.
/// @param key  of the micro-batch; sets its `draw`
[[nodiscard]] at::Tensor diff_augmented(const at::Tensor& pictures, AugmentKinds kinds,
                                        const RandomKey& key);

}  // namespace gangway::gan
