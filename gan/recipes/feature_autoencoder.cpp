// SPDX-License-Identifier: MIT
#include <iterator>
#include <string>
#include <utility>

#include "gan/recipes/recipe_phases.hpp"
#include "gan/recipes/split_adversaries.hpp"

namespace gangway::gan {
namespace {

/// Streams of a network's applications in a pass, which draw apart.
constexpr int kCompared = 0;
constexpr int kJudged = 1;

/// Returns nodes for real examples and a sample of each one's code, "latent".
std::vector<Node> coded(const Job& job) {
  return {Reals{}, Application{job.id_of("encoder"), {{"image", "real"}}, "code"},
          Draw{.output = "noise"}, Join{"gaussian-sample", {"code", "noise"}, "latent"}};
}

/// Returns a pass that judges examples generated from the prior.
Pass of_prior(const SplitAdversaries& networks, const std::string& name, const Loss& loss) {
  std::vector<Node> nodes = networks.draws();
  nodes.emplace_back(networks.generated("noise", "fake_labels", "fake"));
  nodes.emplace_back(networks.features_of("fake", kJudged));
  nodes.emplace_back(networks.verdict_on("fake", "fake_labels", kJudged));
  nodes.emplace_back(loss);
  return {name, std::move(nodes)};
}

/// Judges reconstructions from `latent`, a sample of a real example's code.
void judge_reconstructions(const SplitAdversaries& networks, const std::string& latent,
                           const Loss& loss, std::vector<Node>& nodes) {
  nodes.emplace_back(networks.generated(latent, "real_labels", "again", kJudged));
  nodes.emplace_back(networks.features_of("again", kJudged));
  nodes.emplace_back(networks.verdict_on("again", "real_labels", kJudged));
  nodes.emplace_back(loss);
}

Pass reconstructed(const Job& job, const SplitAdversaries& networks) {
  std::vector<Node> nodes = coded(job);
  judge_reconstructions(networks, "latent",
                        networks.loss("fake", "again", networks.discriminator()), nodes);
  return {"reconstructed", std::move(nodes)};
}

/// Trains the encoder on the code's divergence and the reconstruction, the generator on the
/// reconstruction and the discriminator. The discriminator's gradient stops at the sample of the
/// code.
Pass reconstruct(const Job& job, const SplitAdversaries& networks) {
  const AutoencoderSpec& spec = job.training.autoencoder;
  std::vector<Node> nodes = coded(job);
  nodes.insert(nodes.end(),
               {networks.generated("latent", "real_labels", "made", kCompared),
                networks.features_of("real", kCompared), networks.features_of("made", kCompared),
                Loss{.function = "reconstruction-squared",
                     .inputs = {"made_features", "real_features"},
                     .shown_with = job.id_of("encoder")},
                Loss{.function = "gaussian-kl",
                     .inputs = {"code"},
                     .weight = spec.kl_weight,
                     .shown_with = job.id_of("encoder")},
                Join{std::string(pipeline::kDetached), {"latent"}, "given"}});
  judge_reconstructions(
      networks, "given",
      networks.loss("generator", "again", networks.generator(), spec.adversarial_weight), nodes);
  return {"reconstruct", std::move(nodes)};
}

}  // namespace

std::vector<Phase> feature_autoencoder_phases(const Job& job) {
  const SplitAdversaries networks(job);
  const std::vector<NetworkId> judges{networks.discriminator(), networks.trunk()};
  // The generator is first because its gradients are complete while backward is in the encoder.
  const std::vector<NetworkId> makers{networks.generator(), job.id_of("encoder")};
  const double weight = job.training.autoencoder.adversarial_weight;
  return completed(
      job, {{.name = "discriminator",
             .networks = judges,
             .repeats = job.network("discriminator").steps,
             .takes_reals = true,
             .passes = {networks.real(), reconstructed(job, networks),
                        of_prior(networks, "fake",
                                 networks.loss("fake", "fake", networks.discriminator()))}},
            {.name = "autoencoder",
             .networks = makers,
             .passes = {of_prior(networks, "generate",
                                 networks.loss("generator", "fake", networks.generator(), weight)),
                        reconstruct(job, networks)}}});
}

}  // namespace gangway::gan
