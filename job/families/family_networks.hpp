// SPDX-License-Identifier: MIT
// Networks of the model families, as lists of blocks, for the table in job/families/families.cpp.
// The source of a family names the paper's sizes and the differences from it. Pure; any thread.
#pragma once

#include <cstdint>

#include "job/models/architecture.hpp"
#include "job/models/model_spec.hpp"

namespace gangway {

// architecture_of() describes the inputs and outputs of generators and discriminators. An encoder
// turns "image" into "features" [N, 2 latent]: means, then log variances.

/// BigGAN (Brock et al., 2019, arXiv 1809.11096) for 32 to 256 pixels.
[[nodiscard]] Architecture biggan_generator(const ModelSpec& model);
[[nodiscard]] Architecture biggan_discriminator(const ModelSpec& model);
/// Returns the elements of the maps in the discriminator's blocks and in its attention.
[[nodiscard]] std::int64_t biggan_feature_elements(const ModelSpec& model);

/// DCGAN (Radford et al., 2015) for 32 and 64 pixels, plain or with labels.
[[nodiscard]] Architecture dcgan_generator(const ModelSpec& model);
[[nodiscard]] Architecture dcgan_discriminator(const ModelSpec& model);
/// The discriminator's convolutions as an encoder.
[[nodiscard]] Architecture dcgan_encoder(const ModelSpec& model);

/// A GAN of dense networks for images, with one hidden layer each.
[[nodiscard]] Architecture dense_generator(const ModelSpec& model);
[[nodiscard]] Architecture dense_discriminator(const ModelSpec& model);
/// Encoder of Kingma and Welling (2014), of size 784-256-100 in many first examples.
[[nodiscard]] Architecture dense_encoder(const ModelSpec& model);

/// GAT (Generative Adversarial Transformers, Hyun et al., 2025, arXiv 2509.24935), 32 and 64
/// pixels.
[[nodiscard]] Architecture gat_generator(const ModelSpec& model);
[[nodiscard]] Architecture gat_discriminator(const ModelSpec& model);
/// Returns the elements of a transformer's tokens, inner ones included, and of their attention.
[[nodiscard]] std::int64_t gat_feature_elements(const ModelSpec& model);

/// Networks of Lucic et al. (2018) after InfoGAN (Chen et al., 2016), for 28 pixels.
[[nodiscard]] Architecture infogan_generator(const ModelSpec& model);
[[nodiscard]] Architecture infogan_discriminator(const ModelSpec& model);

/// Fast style transfer (Johnson et al., 2016): "image" → a picture of the same size, in [-1, 1].
[[nodiscard]] Architecture johnson_translator(const ModelSpec& model);
/// Returns the elements of all maps of the translator.
[[nodiscard]] std::int64_t johnson_feature_elements(const ModelSpec& model);

/// The convolutions of gan/evaluation/lenet.hpp, with weights in share/: "image" → "level0" [N, 16,
/// H, W] and "level1" [N, 32, H / 2, W / 2], or "level0" alone.
[[nodiscard]] Architecture lenet_features(const ModelSpec& model);
/// Levels of lenet_features.
inline constexpr int kLenetLevels = 2;

/// Dense networks for points in the plane (Gulrajani et al., 2017, toy experiments).
[[nodiscard]] Architecture mlp_generator(const ModelSpec& model);
[[nodiscard]] Architecture mlp_discriminator(const ModelSpec& model);
/// Encoder of points.
[[nodiscard]] Architecture mlp_encoder(const ModelSpec& model);

/// Progressive growing of GANs (Karras et al., 2018, arXiv 1710.10196) for 32 to 256 pixels.
[[nodiscard]] Architecture progressive_generator(const ModelSpec& model);
[[nodiscard]] Architecture progressive_discriminator(const ModelSpec& model);
/// Returns ModelFamily::feature_elements of fully grown networks.
[[nodiscard]] std::int64_t progressive_feature_elements(const ModelSpec& model);

/// R3GAN (Huang et al., 2024, arXiv 2501.05441) for 32 to 256 pixels, plain or with labels.
[[nodiscard]] Architecture r3gan_generator(const ModelSpec& model);
[[nodiscard]] Architecture r3gan_discriminator(const ModelSpec& model);
/// Returns the elements of the maps at and in the residual blocks, from the picture down.
[[nodiscard]] std::int64_t r3gan_feature_elements(const ModelSpec& model);

/// StyleGAN2 (Karras et al., 2020, arXiv 1912.04958), plain or with labels.
[[nodiscard]] Architecture stylegan2_generator(const ModelSpec& model);
[[nodiscard]] Architecture stylegan2_discriminator(const ModelSpec& model);
/// Returns the elements of the maps at and in the discriminator's blocks.
[[nodiscard]] std::int64_t stylegan2_feature_elements(const ModelSpec& model);

/// Translators of pix2pix (U-Net, Isola et al., 2017) and of CycleGAN (residual blocks, Zhu et al.,
/// 2017) for 32 to 256 pixels; "image" [N, C, S, S] → the same shape in [-1, 1].
[[nodiscard]] Architecture unet_translator(const ModelSpec& model);
[[nodiscard]] Architecture residual_translator(const ModelSpec& model);
/// "image" [N, C, S, S] → a logit for each overlapping patch, [N, 1, h, w] (PatchGAN, Isola et al.,
/// 2017, section 3.2.2). Patches are 70x70 from 128 pixels on, 34x34 at 64, 16x16 at 32.
[[nodiscard]] Architecture unet_discriminator(const ModelSpec& model);
[[nodiscard]] Architecture residual_discriminator(const ModelSpec& model);
/// Same for two pictures, "image" [N, 2 C, S, S]: whether the second belongs to the first.
[[nodiscard]] Architecture unet_pair_discriminator(const ModelSpec& model);
[[nodiscard]] Architecture residual_pair_discriminator(const ModelSpec& model);
/// Return the elements of a translator's maps.
[[nodiscard]] std::int64_t unet_feature_elements(const ModelSpec& model);
[[nodiscard]] std::int64_t residual_feature_elements(const ModelSpec& model);

}  // namespace gangway
