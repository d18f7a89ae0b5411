// Dense networks for images, one hidden layer each: the autoencoder of Kingma and Welling (2014),
// of size 784-256-100 in many first examples, and a GAN of such layers.
#pragma once

#include "job/models/architecture.hpp"
#include "job/models/model_spec.hpp"

namespace gangway {

[[nodiscard]] Architecture dense_generator(const ModelSpec& model);
[[nodiscard]] Architecture dense_discriminator(const ModelSpec& model);
/// "image" → "features" [N, 2 latent]: means, then log variances.
[[nodiscard]] Architecture dense_encoder(const ModelSpec& model);

}  // namespace gangway
