// SPDX-License-Identifier: MIT
#include "job/models/recipes.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "base/guarded.hpp"

namespace gangway {

// NOLINTNEXTLINE(readability-function-size): a table
const std::vector<Recipe>& recipes() {
  static const std::vector<Recipe> table = {
      {.name = "adversarial",
       .doc = "a generator against a discriminator (Goodfellow et al., 2014)",
       .networks =
           {{.name = "generator", .role = "generator", .ema_kimg = 10.0, .is_averaged = true},
            {.name = "discriminator", .role = "discriminator"}},
       .shown = "generator",
       .counts = "discriminator",
       .is_adversarial = true,
       .takes_penalties = true,
       .augments = true},
      {.name = "vae",
       .doc = "a variational autoencoder (Kingma and Welling, 2014)",
       .networks =
           {{.name = "encoder", .role = "encoder"},
            {.name = "decoder", .role = "generator", .ema_kimg = 10.0, .is_averaged = true}},
       .shown = "decoder",
       .is_autoencoder = true,
       .compares_values = true},
      {.name = "infogan",
       .doc = "a GAN whose latent codes a network recovers from the generated examples (InfoGAN, "
              "Chen et al., 2016)",
       .networks =
           {{.name = "generator", .role = "generator", .ema_kimg = 10.0, .is_averaged = true},
            {.name = "trunk", .role = "trunk"},
            {.name = "discriminator", .role = "head"},
            {.name = "posterior", .role = "posterior"}},
       .shown = "generator",
       .counts = "discriminator",
       .is_adversarial = true,
       .has_codes = true},
      {.name = "vae-gan",
       .doc = "an autoencoder whose reconstruction loss compares a discriminator's features "
              "(Larsen et al., 2016)",
       .networks =
           {{.name = "encoder", .role = "encoder"},
            {.name = "generator", .role = "generator", .ema_kimg = 10.0, .is_averaged = true},
            {.name = "trunk", .role = "trunk"},
            {.name = "discriminator", .role = "head"}},
       .shown = "generator",
       .counts = "discriminator",
       .is_adversarial = true,
       .is_autoencoder = true},
      {.name = "pix2pix",
       .doc = "image-to-image translation, learnt from pairs (Isola et al., 2017)",
       .networks =
           {{.name = "generator", .role = "translator", .ema_kimg = 10.0, .is_averaged = true},
            {.name = "discriminator", .role = "pair-discriminator"}},
       .shown = "generator",
       .is_adversarial = true,
       .takes_pictures = true,
       .translates = true},
      {.name = "cyclegan",
       .doc = "image-to-image translation both ways, learnt without pairs (CycleGAN, Zhu et al., "
              "2017)",
       .networks =
           {{.name = "generator_ab", .role = "translator", .ema_kimg = 10.0, .is_averaged = true},
            {.name = "generator_ba", .role = "translator", .ema_kimg = 10.0, .is_averaged = true},
            {.name = "discriminator_a", .role = "patch-discriminator"},
            {.name = "discriminator_b", .role = "patch-discriminator"}},
       .shown = "generator_ab",
       .is_adversarial = true,
       .takes_pictures = true,
       .translates = true,
       .is_cyclic = true,
       .has_pools = true},
      {.name = "style-transfer",
       .doc = "a generator that gives pictures the style of another picture, measured by the "
              "features of a frozen network (Johnson et al., 2016)",
       .networks =
           {{.name = "generator", .role = "translator", .ema_kimg = 0.0, .is_averaged = true},
            {.name = "features", .role = "features", .is_frozen = true}},
       .shown = "generator",
       .takes_pictures = true,
       .has_style = true},
      {.name = "distill",
       .doc =
           "a generator that learns the examples of a larger, frozen one (Aguinaldo et al., 2019)",
       .networks =
           {{.name = "generator", .role = "generator", .ema_kimg = 10.0, .is_averaged = true},
            {.name = "trunk", .role = "trunk"},
            {.name = "discriminator", .role = "head"},
            {.name = "teacher", .role = "generator", .is_frozen = true, .is_teacher = true}},
       .shown = "generator",
       .counts = "discriminator",
       .is_adversarial = true},
  };
  return table;
}

bool judges(std::string_view role) {
  constexpr std::array<std::string_view, 4> kJudges{"discriminator", "head", "pair-discriminator",
                                                    "patch-discriminator"};
  return std::ranges::find(kJudges, role) != kJudges.end();
}

const Recipe* default_recipe() { return &recipes().front(); }

const Recipe* own_recipe(const std::vector<std::string>& networks) {
  struct Own {
    std::string name;
    Recipe recipe;
  };
  static Mutex mutex;
  static std::map<std::vector<std::string>, Own> all;  // a node's content never moves
  const MutexLock lock(mutex);
  const auto [place, is_new] = all.try_emplace(networks);
  Own& own = place->second;
  if (is_new) {
    for (const std::string& network : place->first) {
      own.name += (own.name.empty() ? "[" : ", ") + network;
      own.recipe.networks.push_back({.name = network, .role = "network", .is_averaged = true});
    }
    own.name += "]";
    own.recipe.name = own.name;
    own.recipe.doc = "networks of a step of the user's";
    own.recipe.is_own = true;
    RecipeNetwork& first = own.recipe.networks.front();
    first.role = "generator";
    first.ema_kimg = 10.0;
    own.recipe.shown = first.name;
    own.recipe.counts = networks.size() > 1 ? own.recipe.networks[1].name : std::string_view();
  }
  return &own.recipe;
}

std::string recipe_names(std::string_view separator,
                         const std::function<bool(const Recipe&)>& is_meant) {
  std::string names;
  for (const Recipe& recipe : recipes()) {
    if (is_meant(recipe)) {
      names += names.empty() ? "" : separator;
      names += recipe.name;
    }
  }
  return names;
}

}  // namespace gangway
