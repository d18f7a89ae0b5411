// SPDX-License-Identifier: MIT
#include "gan/models/models.hpp"

#include "base/errors.hpp"
#include "gan/models/dcgan.hpp"
#include "gan/models/infogan.hpp"
#include "gan/models/mlp.hpp"

namespace gangway::gan {
namespace {

DiscriminatorStyle style_of(const JobSpec& job) {
  const bool has_penalty =
      job.training.penalty.gradient_penalty > 0.0 || job.training.penalty.r1_gamma > 0.0;
  const Normalization norm = job.model.normalization;
  // A penalty on the gradient of one example means nothing when BatchNorm mixes the examples
  // (Gulrajani et al., sec. 4).
  const bool automatic = !has_penalty && job.model.family != ModelFamily::kMlp;
  return {
      .batch_norm = norm == Normalization::kBatch || (norm == Normalization::kAuto && automatic),
      .activation = job.model.activation == Activation::kSoftplus ? ActivationKind::kSoftplus
                                                                  : ActivationKind::kLeakyRelu,
      .dropout = job.model.dropout};
}

}  // namespace

NetworkPair build_networks(const JobSpec& job) {
  const DiscriminatorStyle style = style_of(job);
  switch (job.model.family) {
    case ModelFamily::kDcgan:
      return {dcgan_generator(job.model), dcgan_discriminator(job.model, style)};
    case ModelFamily::kInfogan:
      return {infogan_generator(job.model), infogan_discriminator(job.model, style)};
    case ModelFamily::kMlp:
      return {mlp_generator(job.model), mlp_discriminator(job.model, style)};
  }
  throw ConfigError("model.family: no such family; use dcgan, infogan or mlp");
}

std::vector<std::int64_t> example_shape(const ModelSpec& model) {
  if (model.family == ModelFamily::kMlp) {
    return {2};
  }
  return {model.channels, model.resolution, model.resolution};
}

}  // namespace gangway::gan
