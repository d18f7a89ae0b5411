// SPDX-License-Identifier: MIT
#include <string>
#include <utility>

#include "gan/recipes/recipe_phases.hpp"
#include "gan/recipes/split_adversaries.hpp"

namespace gangway::gan {
namespace {

/// Generates examples of drawn noise.
std::vector<Node> making(const SplitAdversaries& networks) {
  std::vector<Node> nodes = networks.draws();
  nodes.emplace_back(networks.generated("noise", "fake_labels", "fake"));
  return nodes;
}

/// Returns the mean absolute difference of "fake`what`" from the teacher's "shown`what`".
Loss distance(const SplitAdversaries& networks, const std::string& what, double weight) {
  return {.function = "mean-absolute",
          .inputs = {"fake" + what, "shown" + what},
          .weight = weight,
          .shown_with = networks.generator()};
}

Pass judge_fakes(const SplitAdversaries& networks) {
  std::vector<Node> nodes = making(networks);
  nodes.emplace_back(networks.features_of("fake", 1));
  nodes.emplace_back(networks.verdict_on("fake", "fake_labels", 1));
  nodes.emplace_back(networks.loss("fake", "fake", networks.discriminator()));
  return {"fake", std::move(nodes)};
}

/// Trains the generator on the teacher's examples of the same noise and labels, and on the
/// discriminator's judgement. The teacher is frozen, so no gradient goes through it.
Pass imitate(const Job& job, const SplitAdversaries& networks) {
  const DistillSpec& spec = job.training.distill;
  std::vector<Node> nodes = making(networks);
  const auto num_making = static_cast<int>(nodes.size());
  const bool compares_features = spec.feature_weight > 0.0;
  if (compares_features || spec.picture_weight > 0.0) {
    Application shown = networks.generated("noise", "fake_labels", "shown");
    shown.network = job.id_of("teacher");
    nodes.emplace_back(std::move(shown));
  }
  if (spec.picture_weight > 0.0) {
    nodes.emplace_back(distance(networks, "", spec.picture_weight));
  }
  if (compares_features || spec.adversarial_weight > 0.0) {
    nodes.emplace_back(networks.features_of("fake", 1));
  }
  if (compares_features) {
    nodes.emplace_back(networks.features_of("shown", 0));
    nodes.emplace_back(distance(networks, "_features", spec.feature_weight));
  }
  if (spec.adversarial_weight > 0.0) {
    nodes.emplace_back(networks.verdict_on("fake", "fake_labels", 1));
    nodes.emplace_back(
        networks.loss("generator", "fake", networks.generator(), spec.adversarial_weight));
  }
  Pass pass{"imitate", std::move(nodes)};
  if (job.training.reuse_fakes) {
    pass.recall = {.phase = 0, .pass = 1, .nodes = num_making};
  }
  return pass;
}

}  // namespace

std::vector<Phase> distillation_phases(const Job& job) {
  const SplitAdversaries networks(job);
  // The head is first because its gradient is complete while backward is in the trunk.
  const std::vector<NetworkId> judges{networks.discriminator(), networks.trunk()};
  return completed(job, {{.name = "discriminator",
                          .networks = judges,
                          .repeats = job.network("discriminator").steps,
                          .takes_reals = true,
                          .passes = {networks.real(), judge_fakes(networks)}},
                         {.name = "generator",
                          .networks = {networks.generator()},
                          .passes = {imitate(job, networks)}}});
}

}  // namespace gangway::gan
