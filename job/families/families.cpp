// SPDX-License-Identifier: MIT
#include "job/families/families.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "job/blocks/initial_deviation.hpp"
#include "job/families/family_networks.hpp"

namespace gangway {

namespace {

const FamilyNetwork* find_role(const ModelFamily& family, std::string_view role) {
  const auto found = std::ranges::find(family.networks, role, &FamilyNetwork::role);
  return found == family.networks.end() ? nullptr : &*found;
}

using MakeArchitecture = Architecture (*)(const ModelSpec& model);

constexpr std::int64_t kPosteriorHidden = 128;

/// Returns all blocks of a discriminator but the last: "image" → "features".
Architecture trunk_of(MakeArchitecture discriminator, const ModelSpec& model) {
  Architecture network = discriminator(model);
  network.blocks.pop_back();
  std::erase(network.fp32_blocks, network.blocks.size());
  return network;
}

/// Returns the last block of a discriminator: "features" (and "labels") → logits [N, 1].
Architecture head_of(MakeArchitecture discriminator, const ModelSpec& model) {
  Architecture network = discriminator(model);
  const bool is_fp32 = std::ranges::find(network.fp32_blocks, network.blocks.size() - 1) !=
                       network.fp32_blocks.end();
  network.blocks = {std::move(network.blocks.back())};
  network.fp32_blocks = blocks_between(0, is_fp32 ? 1 : 0);
  return network;
}

/// Returns the head for latent codes, [N, categories + 2 codes], behind a hidden layer of 128;
/// logits of the category, then means and log variances of the codes (Chen et al., 2016, section 4
/// and appendix C.1).
Architecture posterior_of(MakeArchitecture discriminator, const ModelSpec& model) {
  ModelSpec unlabelled = model;
  unlabelled.classes = 0;  // the head then is a layer with the number of features
  LayerSpec hidden = std::get<LayerSpec>(discriminator(unlabelled).blocks.back());
  hidden.out = kPosteriorHidden;
  hidden.bias = !model.normalizes_discriminator();
  hidden.batch_norm = model.normalizes_discriminator();
  hidden.activation = model.activation;
  const LayerSpec last{.in = kPosteriorHidden,
                       .out = std::int64_t{model.categories} + 2 * std::int64_t{model.codes},
                       .bias = true,
                       .initial_scale = deviation(1.0, kPosteriorHidden)};
  return {"posterior", {hidden, last}};
}

/// Returns a family's generator and discriminator, whole and in parts.
template <Architecture (*kGenerator)(const ModelSpec&),
          Architecture (*kDiscriminator)(const ModelSpec&)>
std::vector<FamilyNetwork> split_adversaries() {
  return {{"generator", kGenerator},
          {"discriminator", kDiscriminator},
          {"trunk", [](const ModelSpec& model) { return trunk_of(kDiscriminator, model); }},
          {"head", [](const ModelSpec& model) { return head_of(kDiscriminator, model); }}};
}

/// Same with a posterior on the trunk, followed by `others`.
template <Architecture (*kGenerator)(const ModelSpec&),
          Architecture (*kDiscriminator)(const ModelSpec&)>
std::vector<FamilyNetwork> adversaries(const std::vector<FamilyNetwork>& others = {}) {
  std::vector<FamilyNetwork> networks = split_adversaries<kGenerator, kDiscriminator>();
  networks.push_back(
      {"posterior", [](const ModelSpec& model) { return posterior_of(kDiscriminator, model); }});
  networks.insert(networks.end(), others.begin(), others.end());
  return networks;
}

}  // namespace

// NOLINTNEXTLINE(readability-function-size): a table
const std::vector<ModelFamily>& families() {
  static const std::vector<ModelFamily> table = {
      {.name = "dcgan",
       .doc = "convolutions (Radford et al., 2015)",
       .resolutions = {32, 64},
       .networks = adversaries<dcgan_generator, dcgan_discriminator>({{"encoder", dcgan_encoder}})},
      {.name = "infogan",
       .doc = "the networks of Lucic et al. (2018) after InfoGAN's",
       .resolutions = {28},
       .networks = adversaries<infogan_generator, infogan_discriminator>()},
      {.name = "dense",
       .doc = "one hidden dense layer per network, for images (Kingma and Welling, 2014)",
       .is_dense = true,
       .resolutions = {28, 32, 64},
       .normalizes_by_default = false,
       .networks = adversaries<dense_generator, dense_discriminator>({{"encoder", dense_encoder}})},
      {.name = "mlp",
       .doc = "dense layers, which make points for toy data",
       .makes_points = true,
       .is_dense = true,
       .takes_labels = false,
       .normalizes_by_default = false,
       .networks = adversaries<mlp_generator, mlp_discriminator>({{"encoder", mlp_encoder}})},
      {.name = "r3gan",
       .doc = "residual blocks without normalization (R3GAN, Huang et al., 2024; its CIFAR-10 "
              "networks have width 768 and latent 64)",
       .resolutions = {32, 64, 128, 256},
       .normalizes_by_default = false,
       .keys = {"model.blocks", "model.widest_side", "model.half_precision_sizes",
                "training.orthogonal_weight"},
       .feature_elements = r3gan_feature_elements,
       .networks = split_adversaries<r3gan_generator, r3gan_discriminator>()},
      {.name = "gat",
       .doc = "transformers over patches (GAT, Hyun et al., 2025; its size B has width 768 and "
              "12 blocks)",
       .resolutions = {32, 64},
       .normalizes_by_default = false,
       .keys = {"model.blocks", "model.patch", "training.orthogonal_weight"},
       .judges_depths = true,
       .equalizes = true,
       .feature_elements = gat_feature_elements,
       .networks = {{"generator", gat_generator}, {"discriminator", gat_discriminator}}},
      {.name = "biggan",
       .doc = "residual blocks under spectral norm (BigGAN, Brock et al., 2019; published at 128 "
              "pixels with width 96, latent 120 and attention 64; without labels as SNGAN)",
       .resolutions = {32, 64, 128, 256},
       .normalizes_by_default = false,
       .keys = {"model.attention", "model.attention_everywhere", "model.conditioning",
                "training.orthogonal_weight"},
       .feature_elements = biggan_feature_elements,
       .networks = split_adversaries<biggan_generator, biggan_discriminator>()},
      {.name = "unet",
       .doc = "image-to-image translation by a U-Net (pix2pix, Isola et al., 2017)",
       .resolutions = {32, 64, 128, 256},
       .takes_labels = false,
       .keys = {},
       .feature_elements = unet_feature_elements,
       .networks = {{"translator", unet_translator},
                    {"patch-discriminator", unet_discriminator},
                    {"pair-discriminator", unet_pair_discriminator}}},
      {.name = "cyclegan",
       .doc = "image-to-image translation by residual blocks (CycleGAN, Zhu et al., 2017; 9 blocks "
              "at 256 pixels)",
       .resolutions = {32, 64, 128, 256},
       .takes_labels = false,
       .normalizes_by_default = false,
       .keys = {"model.blocks"},
       .feature_elements = residual_feature_elements,
       .networks = {{"translator", residual_translator},
                    {"patch-discriminator", residual_discriminator},
                    {"pair-discriminator", residual_pair_discriminator}}},
      {.name = "stylegan2",
       .doc = "convolutions whose weights are scaled by styles (StyleGAN2, Karras et al., 2020; "
              "published at 256 pixels with width 64 and latent 512)",
       .resolutions = {32, 64, 128, 256, 512, 1024},
       .normalizes_by_default = false,
       .keys = {"model.mapping_layers", "model.discriminator_mapping_layers", "model.style_mixing",
                "model.deviation_group", "model.discriminator_residual", "model.stored_noise",
                "model.half_precision_sizes", "training.path_length.weight",
                "training.path_length.interval", "training.orthogonal_weight"},
       .equalizes = true,
       .feature_elements = stylegan2_feature_elements,
       .networks = {{"generator", stylegan2_generator},
                    {"discriminator", stylegan2_discriminator}}},
      {.name = "johnson",
       .doc = "image-to-image network for style-transfer (Johnson et al., 2016; published with "
              "width 32 and 5 blocks)",
       .resolutions = {28, 32, 64, 128, 256},
       .takes_labels = false,
       .normalizes_by_default = false,
       .keys = {"model.blocks"},
       .feature_elements = johnson_feature_elements,
       .levels = kLenetLevels,
       .networks = {{"translator", johnson_translator}, {"features", lenet_features}}},
      {.name = "progressive",
       .doc = "convolutions; finer resolutions are added during training (progressive growing, "
              "Karras et al., 2018; published at 256 pixels with width 64 and latent 512)",
       .resolutions = {32, 64, 128, 256},
       .normalizes_by_default = false,
       .keys = {"training.growth.from", "training.growth.kimg", "training.growth.fade_kimg"},
       .equalizes = true,
       .feature_elements = progressive_feature_elements,
       .networks = {{"generator", progressive_generator},
                    {"discriminator", progressive_discriminator}}},
  };
  return table;
}

const ModelFamily* default_family() { return &families().front(); }

const ModelFamily* own_family() {
  static const ModelFamily family{.name = kOwnFamily,
                                  .doc = "only the networks given by model.NETWORK",
                                  .normalizes_by_default = false,
                                  .keys = {}};
  return &family;
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

bool has_role(const ModelFamily& family, std::string_view role) {
  return find_role(family, role) != nullptr;
}

std::string_view missing_role(const ModelFamily& family, const Recipe& recipe) {
  const auto missing = std::ranges::find_if(recipe.networks, [&](const RecipeNetwork& network) {
    return find_role(family, network.role) == nullptr;
  });
  return missing == recipe.networks.end() ? std::string_view() : missing->role;
}

Architecture architecture_of(const ModelSpec& model, std::string_view role) {
  const FamilyNetwork* network = find_role(*model.family, role);
  if (network == nullptr) {
    throw InvariantError(fmt::format("family {} has no {}", model.family->name, role));
  }
  Architecture architecture = network->make(model);
  for (BlockSpec& block : architecture.blocks) {
    if (auto* of_library = std::get_if<LibrarySpec>(&block)) {
      of_library->library = model.library.file;
    }
  }
  return architecture;
}

std::vector<std::int64_t> example_shape(const ModelSpec& model) {
  if (model.family->makes_points) {
    return {2};
  }
  return {model.channels, model.resolution, model.resolution};
}

}  // namespace gangway
