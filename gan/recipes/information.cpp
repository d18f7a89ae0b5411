// SPDX-License-Identifier: MIT
#include <optional>
#include <string>
#include <utility>

#include "gan/recipes/recipe_phases.hpp"
#include "gan/recipes/split_adversaries.hpp"

namespace gangway::gan {
namespace {

/// Generates examples of drawn codes, and applies discriminator and posterior to them.
Pass of_codes(const Job& job, const SplitAdversaries& networks, const std::string& name,
              const Loss& loss, bool trains_generator) {
  const NetworkId posterior = job.id_of("posterior");
  const ModelSpec& model = job.model;
  const InformationSpec& information = job.training.information;
  std::vector<Node> nodes = networks.draws();
  std::vector<std::string> parts{"noise"};
  std::vector<Node> losses;
  const auto add_code = [&](Draw::Kind kind, const std::string& code, double weight) {
    nodes.emplace_back(Draw{.kind = kind, .output = code});
    parts.push_back(code);
    losses.emplace_back(
        Loss{.function = "information-" + code,
             .inputs = {"posterior", code},
             .weight = weight,
             .shown_with = trains_generator ? std::nullopt : std::optional(posterior)});
  };
  if (model.codes > 0) {
    add_code(Draw::Kind::kCodes, "codes", information.weight * information.codes);
  }
  if (model.categories > 0) {
    add_code(Draw::Kind::kCategories, "category", information.weight);
  }
  nodes.emplace_back(Join{"concatenation", std::move(parts), "latent"});
  nodes.emplace_back(networks.generated("latent", "fake_labels", "fake"));
  const auto num_making = static_cast<int>(nodes.size());
  nodes.emplace_back(networks.features_of("fake", 1));
  nodes.emplace_back(networks.verdict_on("fake", "fake_labels", 1));
  nodes.emplace_back(Application{posterior, {{"features", "fake_features"}}, "posterior"});
  nodes.emplace_back(loss);
  nodes.insert(nodes.end(), losses.begin(), losses.end());
  Pass pass{name, std::move(nodes)};
  if (trains_generator && job.training.reuse_fakes) {
    pass.recall = {.phase = 0, .pass = 1, .nodes = num_making};
  }
  return pass;
}

}  // namespace

std::vector<Phase> information_phases(const Job& job) {
  const SplitAdversaries networks(job);
  // The heads are first because their gradients are complete while backward is in the trunk.
  const std::vector<NetworkId> judges{networks.discriminator(), job.id_of("posterior"),
                                      networks.trunk()};
  return completed(
      job,
      {{.name = "discriminator",
        .networks = judges,
        .repeats = job.network("discriminator").steps,
        .takes_reals = true,
        .passes = {networks.real(),
                   of_codes(job, networks, "fake",
                            networks.loss("fake", "fake", networks.discriminator()), false)}},
       {.name = "generator",
        .networks = {networks.generator()},
        .passes = {of_codes(job, networks, "generate",
                            networks.loss("generator", "fake", networks.generator()), true)}}});
}

}  // namespace gangway::gan
