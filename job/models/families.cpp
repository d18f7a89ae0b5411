// SPDX-License-Identifier: MIT
#include "job/models/families.hpp"

#include <fmt/format.h>

#include "base/errors.hpp"
#include "job/models/dcgan.hpp"
#include "job/models/infogan.hpp"
#include "job/models/mlp.hpp"

namespace gangway {

const std::vector<ModelFamily>& families() {
  static const std::vector<ModelFamily> table = {
      {.name = "dcgan",
       .doc = "convolutions (Radford et al., 2015)",
       .resolutions = {32, 64},
       .generator = dcgan_generator,
       .discriminator = dcgan_discriminator},
      {.name = "infogan",
       .doc = "the networks of Lucic et al. (2018) after InfoGAN's, without its latent codes",
       .resolutions = {28},
       .generator = infogan_generator,
       .discriminator = infogan_discriminator},
      {.name = "mlp",
       .doc = "dense layers, which make points for toy data",
       .makes_points = true,
       .takes_labels = false,
       .normalizes_by_default = false,
       .generator = mlp_generator,
       .discriminator = mlp_discriminator},
  };
  return table;
}

const ModelFamily* default_family() { return &families().front(); }

const ModelFamily* family_named(std::string_view name) {
  for (const ModelFamily& family : families()) {
    if (family.name == name) {
      return &family;
    }
  }
  throw ConfigError(fmt::format("model.family: there is no '{}'; use one of {}", name,
                                family_names(", ", [](const ModelFamily&) { return true; })));
}

std::string family_names(std::string_view separator,
                         const std::function<bool(const ModelFamily&)>& is_meant) {
  std::string names;
  for (const ModelFamily& family : families()) {
    if (is_meant(family)) {
      names += names.empty() ? "" : separator;
      names += family.name;
    }
  }
  return names;
}

Architectures architectures_of(const ModelSpec& model) {
  if (model.normalization == Normalization::kAuto) {
    throw InvariantError("a model whose normalization is not settled has no architecture");
  }
  return {model.family->generator(model), model.family->discriminator(model)};
}

std::vector<std::int64_t> example_shape(const ModelSpec& model) {
  if (model.family->makes_points) {
    return {2};
  }
  return {model.channels, model.resolution, model.resolution};
}

}  // namespace gangway
