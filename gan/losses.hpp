// SPDX-License-Identifier: MIT
// Adversarial losses on logits [N, 1]; each returns the mean over the micro-batch, a scalar.
#pragma once

#include "gan/torch.hpp"
#include "job/spec.hpp"

namespace gangway::gan {

/// Discriminator's loss on real images. @pre not the relativistic one
[[nodiscard]] at::Tensor discriminator_real_loss(LossKind loss, const at::Tensor& real_logits);
/// Discriminator's loss on generated images. @pre not the relativistic one
[[nodiscard]] at::Tensor discriminator_fake_loss(LossKind loss, const at::Tensor& fake_logits);
/// Generator's loss. @pre not the relativistic one
[[nodiscard]] at::Tensor generator_loss(LossKind loss, const at::Tensor& fake_logits);

/// Relativistic pairing, softplus(-(a - b)): the discriminator's with (real, fake), the generator's
/// with (fake, real) (Jolicoeur-Martineau, 2018; R3GAN, Huang et al., 2024, eq. 2).
[[nodiscard]] at::Tensor relativistic_loss(const at::Tensor& preferred_logits,
                                           const at::Tensor& other_logits);

}  // namespace gangway::gan
