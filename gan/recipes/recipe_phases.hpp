// SPDX-License-Identifier: MIT
// Phases of the recipes, one function for each, and their augmentation. Pure. For the recipe of a
// plain GAN see gan/recipes/adversarial.hpp, which is installed.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "job/spec.hpp"
#include "pipeline/phases.hpp"

namespace gangway::gan {

using pipeline::Application;
using pipeline::Augment;
using pipeline::Draw;
using pipeline::Input;
using pipeline::Join;
using pipeline::Loss;
using pipeline::Node;
using pipeline::Pass;
using pipeline::Penalty;
using pipeline::Phase;
using pipeline::Pool;
using pipeline::Reals;
using pipeline::Running;
using pipeline::StylePicture;

/// Same as pipeline::completed(), for phases that agree if the updates of a network of theirs do.
[[nodiscard]] inline std::vector<Phase> completed(const Job& job, std::vector<Phase> phases) {
  for (Phase& phase : phases) {
    phase.agrees = std::ranges::any_of(
        phase.networks, [&job](NetworkId network) { return job.agrees_on_updates(network); });
  }
  return pipeline::completed(std::move(phases));
}

/// A variational autoencoder (Kingma and Welling, 2014): an encoder predicts an example's
/// distribution in the latent space, and a decoder reconstructs the example. One phase trains both
/// networks.
[[nodiscard]] std::vector<Phase> autoencoder_phases(const Job& job);

/// InfoGAN (Chen et al., 2016). The generator takes latent codes after its noise. A posterior, a
/// second head on the discriminator's features, predicts the codes. Two phases: discriminator and
/// posterior with their shared trunk, then the generator. Both include the posterior's loss, as in
/// the authors' code.
[[nodiscard]] std::vector<Phase> information_phases(const Job& job);

/// VAE-GAN (Larsen et al., 2016): an autoencoder that compares examples by a discriminator's
/// features. The discriminator judges reconstructions and samples of the prior. Two phases: the
/// discriminator with its trunk, then generator and encoder (algorithm 1).
[[nodiscard]] std::vector<Phase> feature_autoencoder_phases(const Job& job);

/// pix2pix (Isola et al., 2017): a generator makes the second picture of a pair from the first; a
/// discriminator sees both and judges whether they are a real pair. Two phases: the discriminator,
/// then the generator, whose loss adds the mean absolute difference from the pair's second picture
/// (eq. 4).
[[nodiscard]] std::vector<Phase> pix2pix_phases(const Job& job);

/// CycleGAN (Zhu et al., 2017), for unpaired pictures of two sides. Each generator translates to
/// the other side, and the other generator must restore the original. Two phases: both generators,
/// then both discriminators. These see pictures made before the generators' update, or images of
/// their pools (section 4).
[[nodiscard]] std::vector<Phase> cyclegan_phases(const Job& job);

/// Fast style transfer (Johnson, Alahi and Fei-Fei, 2016): a network learns to give any picture one
/// style. Features of a frozen network measure style and content. One phase updates the generator.
[[nodiscard]] std::vector<Phase> style_transfer_phases(const Job& job);

/// Distillation (Aguinaldo et al., 2019): the generator learns the examples that a frozen, wider
/// teacher makes of the same noise and labels. The trunk's features compare them, too (Yu and Pool,
/// 2020). Two phases: the discriminator with its trunk, then the generator.
[[nodiscard]] std::vector<Phase> distillation_phases(const Job& job);

/// Returns `phases` with augmented (training.augment) "real" and "fake" pictures for the
/// discriminator, its penalties and joins; real and generated pictures draw apart. Returns `phases`
/// unchanged for a job without augmentation.
///
/// Penalties use the gradient by augmented pictures. (StyleGAN2-ADA's code takes R1 by pictures
/// before augmentation.)
[[nodiscard]] std::vector<Phase> with_augmentation(const Job& job, std::vector<Phase> phases);

}  // namespace gangway::gan
