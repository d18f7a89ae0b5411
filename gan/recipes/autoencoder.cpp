// SPDX-License-Identifier: MIT
#include <string>
#include <utility>

#include "gan/recipes/recipe_phases.hpp"
#include "job/choices.hpp"

namespace gangway::gan {

std::vector<pipeline::Phase> autoencoder_phases(const Job& job) {
  const NetworkId encoder = job.id_of("encoder");
  const NetworkId decoder = job.id_of("decoder");
  const AutoencoderSpec& spec = job.training.autoencoder;
  std::vector<pipeline::Input> latent{{"noise", "latent"}};
  if (job.model.classes > 0) {
    latent.push_back({"labels", "real_labels"});
  }
  const std::string likeness = "reconstruction-" + std::string(name_of(spec.reconstruction));
  pipeline::Pass pass{
      "reconstruct",
      {pipeline::Reals{}, pipeline::Application{encoder, {{"image", "real"}}, "code"},
       pipeline::Draw{.output = "noise"},
       pipeline::Join{"gaussian-sample", {"code", "noise"}, "latent"},
       pipeline::Application{decoder, std::move(latent), "made"},
       pipeline::Loss{.function = likeness, .inputs = {"made", "real"}, .shown_with = decoder},
       pipeline::Loss{.function = "gaussian-kl",
                      .inputs = {"code"},
                      .weight = spec.kl_weight,
                      .shown_with = encoder}}};
  // The decoder is first because its gradients are complete while backward is in the encoder.
  return pipeline::completed(
      {{.name = "autoencoder",
        .networks = {decoder, encoder},
        .agrees = job.agrees_on_updates(encoder) || job.agrees_on_updates(decoder),
        .takes_reals = true,
        .passes = {std::move(pass)}}});
}

}  // namespace gangway::gan
