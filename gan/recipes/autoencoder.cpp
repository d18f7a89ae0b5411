// SPDX-License-Identifier: MIT
#include <string>
#include <utility>

#include "gan/recipes/recipe_phases.hpp"
#include "job/choices.hpp"

namespace gangway::gan {

std::vector<Phase> autoencoder_phases(const Job& job) {
  const NetworkId encoder = job.id_of("encoder");
  const NetworkId decoder = job.id_of("decoder");
  const AutoencoderSpec& spec = job.training.autoencoder;
  std::vector<Input> latent{{"noise", "latent"}};
  if (job.model.classes > 0) {
    latent.push_back({"labels", "real_labels"});
  }
  const std::string likeness = "reconstruction-" + std::string(name_of(spec.reconstruction));
  Pass pass{"reconstruct",
            {Reals{}, Application{encoder, {{"image", "real"}}, "code"}, Draw{.output = "noise"},
             Join{"gaussian-sample", {"code", "noise"}, "latent"},
             Application{decoder, std::move(latent), "made"},
             Loss{.function = likeness, .inputs = {"made", "real"}, .shown_with = decoder},
             Loss{.function = "gaussian-kl",
                  .inputs = {"code"},
                  .weight = spec.kl_weight,
                  .shown_with = encoder}}};
  // The decoder is first because its gradients are complete while backward is in the encoder.
  return completed(job, {{.name = "autoencoder",
                          .networks = {decoder, encoder},
                          .takes_reals = true,
                          .passes = {std::move(pass)}}});
}

}  // namespace gangway::gan
