// SPDX-License-Identifier: MIT
// Losses as functions of a pass's named tensors; recipes select them by name.
#pragma once

#include <span>
#include <string_view>

#include "gan/torch.hpp"

namespace gangway::gan {

/// Returns the mean over the micro-batch, a scalar. Logits are [N, 1], or [N, 1, h, w] if a
/// discriminator judges patches.
using LossFunction = at::Tensor (*)(std::span<const at::Tensor> inputs);

/// Of (logits): "nonsaturating-real" for the discriminator on real images, "nonsaturating-fake" on
/// generated ones, "nonsaturating-generator"; also "least-squares-…", "hinge-…", "wasserstein-…".
///
/// Of (logits, targets [N]) for the discriminator on real images with targets other than 1
/// (LabelSpec): "nonsaturating-targets", "least-squares-targets". Of (logits, [1]): "lecam", the
/// mean squared distance from the mean logit of the other kind of images (Tseng et al., 2021, eq.
/// 3).
///
/// Of two logits: "relativistic", softplus(other - preferred): the discriminator's of (real, fake),
/// the generator's of (fake, real) (Jolicoeur-Martineau, 2018; R3GAN, Huang et al., 2024, eq. 2).
///
/// Of (made, real), both in [-1, 1]: "reconstruction-bernoulli", minus log likelihood where shades
/// are probabilities of white; "reconstruction-squared", half the squared distance, a Gaussian's;
/// "reconstruction-absolute". The same, but the mean over all elements: "mean-absolute" (pix2pix,
/// Isola et al., 2017, eq. 3). Of (code [N, 2 L], means, then logarithms of variances):
/// "gaussian-kl", its divergence from N(0, 1). Sums over an example's elements.
///
/// Of (posterior, codes), where the posterior is [N, categories + 2 codes], logits, means, then
/// logarithms of variances; minus the log likelihood of "information-category" (one-hot rows) and
/// of "information-codes" (up to a constant); summed over an example's codes (Chen et al., 2016,
/// eq. 5).
///
/// Of features [N, C, H, W] of (made, real): "content", the mean squared difference. Of their Gram
/// matrices, [N, C, C] and [1, C, C]: "style", the squared Frobenius norm of the difference. Of
/// made pictures: "total-variation", the sum of squared differences of neighbouring pixels (Johnson
/// et al., 2016, eq. 2 and 4).
/// @throws InvariantError for an unknown name
[[nodiscard]] LossFunction loss_named(std::string_view name);

}  // namespace gangway::gan
