// SPDX-License-Identifier: MIT
// The schema of the job file. To add a key: a field in job/spec.hpp, an entry here, a rule in
// job/keys/rules.cpp if it depends on another key; then `gangway-job-reference --write
// docs/job-file.md`.
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "job/keys/family_texts.hpp"
#include "job/keys/key_types.hpp"
#include "job/keys/network_keys.hpp"
#include "job/keys/per_recipe.hpp"
#include "job/models/families.hpp"

namespace gangway {
namespace {

using Keys = std::vector<Key>;

Key for_images(Key key) {
  key.why_refused = refuse_unless_images;
  return key;
}

Key for_labels(Key key) {
  key.why_refused = refuse_unless_labels;
  return key;
}

Key for_residual(Key key) {
  key.why_refused = refuse_unless_residual;
  return key;
}

Key for_transformers(Key key) {
  key.why_refused = refuse_unless_transformer;
  return key;
}

Key unless_residual(Key key) {
  key.why_refused = refuse_if_residual;
  return key;
}

Key unless_own(Key key) {
  key.why_refused = refuse_if_own;
  return key;
}

Key for_gpus(Key key) {
  key.why_refused = [](const JobSpec& job) -> std::string {
    return job.numerics.device == DeviceKind::kCuda
               ? ""
               : "has a meaning for numerics.device cuda alone; leave it out";
  };
  return key;
}

/// Has a meaning for the recipes for which `is_meant` holds.
Key for_recipes(const std::function<bool(const Recipe&)>& is_meant, Key key) {
  key.why_refused = [is_meant](const JobSpec& job) -> std::string {
    const Recipe& recipe = *job.training.recipe;
    return is_meant(recipe)
               ? ""
               : fmt::format("has no meaning for training.recipe {} (it has for {}); leave it out",
                             recipe.name, recipe_names(", ", is_meant));
  };
  return key;
}

Key for_adversaries(Key key) { return for_recipes(&Recipe::is_adversarial, std::move(key)); }

Key for_penalties(Key key) { return for_recipes(&Recipe::takes_penalties, std::move(key)); }

/// Where what the discriminator learns from are samples of the generator alone.
Key for_fakes(Key key) {
  return for_recipes(
      [](const Recipe& recipe) { return recipe.is_adversarial && !recipe.is_autoencoder; },
      std::move(key));
}

Key for_autoencoders(Key key) { return for_recipes(&Recipe::is_autoencoder, std::move(key)); }

Key for_codes(Key key) { return for_recipes(&Recipe::has_codes, std::move(key)); }

Key with_default(Key key, std::string note) {
  key.default_note = std::move(note);
  return key;
}

Key for_speed(Key key) {
  key.changes_weights = false;
  return key;
}

/// Came after jobs had fingerprints: those that do not name it keep theirs.
Key later(Key key) {
  key.is_fingerprinted_at_default = false;
  return key;
}

void add_model(const Recipe& recipe, Keys& keys) {
  keys.push_back(choice_key(
      {"model.family", "", "Architecture of the networks: " + family_docs()},
      [](auto& job) -> auto& { return job.model.family; }));
  keys.push_back(for_images(with_default(
      whole_key(
          {"model.resolution", "pixels", "Side of the square images: " + allowed_resolutions()},
          [](auto& job) -> auto& { return job.model.resolution; }, {1, 4096}),
      default_resolutions())));
  keys.push_back(unless_own(
      whole_key({"model.width", "channels",
                 fmt::format("Channels next to the image ({}); hidden units of a layer ({})",
                             family_names(", ", [](const auto& one) { return !one.is_dense; }),
                             family_names(", ", [](const auto& one) { return one.is_dense; }))},
                [](auto& job) -> auto& { return job.model.width; }, {1, 4096})));
  keys.push_back(for_residual(
      later(whole_key({"model.blocks", "",
                       fmt::format("Residual blocks of each network at each size of its maps ({})",
                                   family_names(", ", &ModelFamily::is_residual))},
                      [](auto& job) -> auto& { return job.model.blocks; }, {1, 64}))));
  keys.push_back(for_transformers(
      later(whole_key({"model.patch", "pixels",
                       fmt::format("Side of the square patches that become tokens ({})",
                                   family_names(", ", &ModelFamily::is_transformer))},
                      [](auto& job) -> auto& { return job.model.patch; }, {1, 64}))));
  keys.push_back(whole_key({"model.latent", "", "Elements of the noise vector"},
                           [](auto& job) -> auto& { return job.model.latent; }, {1, 65536}));
  keys.push_back(for_codes(
      later(whole_key({"model.codes", "", "Continuous latent codes behind the noise (infogan)"},
                      [](auto& job) -> auto& { return job.model.codes; }, {0, 4096}))));
  keys.push_back(for_codes(later(whole_key(
      {"model.categories", "", "Values of the categorical latent code (infogan); 0: there is none"},
      [](auto& job) -> auto& { return job.model.categories; }, {0, 4096}))));
  keys.push_back(for_images(
      whole_key({"model.channels", "", "Colour channels of the images: 1 is grey, 3 is RGB"},
                [](auto& job) -> auto& { return job.model.channels; }, {1, 3})));
  keys.push_back(for_labels(whole_key(
      {"model.classes", "", "Labels that the networks are conditioned on; 0 trains without labels"},
      [](auto& job) -> auto& { return job.model.classes; }, {0, 100'000})));
  keys.push_back(unless_residual(
      with_default(choice_key(
                       {"model.normalization", "", "Normalization in discriminators and encoders"},
                       [](auto& job) -> auto& { return job.model.normalization; }),
                   fmt::format("auto: none with a penalty or {}, else batch",
                               family_names(" or ", [](const ModelFamily& family) {
                                 return !family.normalizes_by_default;
                               })))));
  keys.push_back(unless_residual(choice_key(
      {"model.activation", "", "Activation in discriminators and encoders; softplus is smooth"},
      [](auto& job) -> auto& { return job.model.activation; })));
  keys.push_back(unless_residual(real_key(
      {"model.dropout", "", "Share of the discriminator's features that is dropped"},
      [](auto& job) -> auto& { return job.model.dropout; }, kZeroToBelowOne)));
  add_module_keys(recipe, keys);
}

void add_data(Keys& keys) {
  keys.push_back(text_key(
      {"data.source", "", "Where the real examples come from; pictures: docs/pictures.md"},
      [](auto& job) -> auto& { return job.data.source; },
      "fashion-mnist, stacked:fashion-mnist, idx:DIR, images:DIR_OR_ZIP, toy:ring8, toy:grid25"));
  keys.push_back(for_images(choice_key(
      {"data.mirror", "", "Whether half of the real images are flipped left to right"},
      [](auto& job) -> auto& { return job.data.mirror; })));
  keys.push_back(for_speed(
      whole_key({"data.prefetch", "micro-batches", "Micro-batches prepared ahead by the loader"},
                [](auto& job) -> auto& { return job.data.prefetch; }, {1, 1024})));
}

void add_training(Keys& keys) {
  keys.push_back(later(choice_key(
      {"training.recipe", "", "What a step does: " + recipe_docs()},
      [](auto& job) -> auto& { return job.training.recipe; })));
  // Not a weight at a given step: job_fingerprint counts it where a schedule ends at it.
  keys.push_back(for_speed(real_key(
      {"training.kimg", kKimg, "Length: real images shown"},
      [](auto& job) -> auto& { return job.training.kimg; }, kAboveZero)));
  keys.push_back(whole_key({"training.batch", "images", "Images a phase, over all workers"},
                           [](auto& job) -> auto& { return job.training.batch; }, {1, 1'048'576}));
  keys.push_back(
      whole_key({"training.microbatches", "",
                 "Pieces that the batch is cut into: the unit of arithmetic, and the most workers"},
                [](auto& job) -> auto& { return job.training.microbatches; }, {1, 65'536}));
  keys.push_back(whole_key({"training.seed", "", "Seed of every random number"},
                           [](auto& job) -> auto& { return job.training.seed; }, {}));
  keys.push_back(later(real_key(
      {"training.burn_in_kimg", kKimg,
       "Over which what has a final value goes to it, on half a cosine; 0: all of training.kimg"},
      [](auto& job) -> auto& { return job.training.burn_in_kimg; }, kZeroOrMore)));
}

void add_losses(Keys& keys) {
  keys.push_back(for_adversaries(choice_key(
      {"training.loss", "", "Loss of both networks"},
      [](auto& job) -> auto& { return job.training.loss; })));
  keys.push_back(for_fakes(later(choice_key(
      {"training.reuse_fakes", "",
       "Whether the generator learns from the examples that the discriminator has learnt from, "
       "not from new ones: one pass less a step"},
      [](auto& job) -> auto& { return job.training.reuse_fakes; }))));
  keys.push_back(for_penalties(with_default(
      real_key(
          {"training.gradient_penalty", "",
           "Weight of the WGAN-GP penalty (Gulrajani et al., 2017); 0: none"},
          [](auto& job) -> auto& { return job.training.penalty.gradient_penalty; }, kZeroOrMore),
      "10 with wasserstein, else 0")));
  keys.push_back(for_penalties(real_key(
      {"training.r1.gamma", "", "Weight of the R1 penalty (Mescheder et al., 2018); 0: none"},
      [](auto& job) -> auto& { return job.training.penalty.r1_gamma; }, kZeroOrMore)));
  keys.push_back(for_penalties(whole_key(
      {"training.r1.interval", "steps", "Steps from one R1 penalty, and R2 penalty, to the next"},
      [](auto& job) -> auto& { return job.training.penalty.r1_interval; }, {1, 1'000'000})));
  keys.push_back(for_penalties(later(real_key(
      {"training.r1.final_factor", "", "Factor on both gammas when the burn-in is over"},
      [](auto& job) -> auto& { return job.training.penalty.final_factor; }, kZeroToOne))));
  keys.push_back(for_penalties(later(real_key(
      {"training.r2.gamma", "",
       "Weight of the R2 penalty: as R1, on generated images (R3GAN, Huang et al., 2024); 0: none"},
      [](auto& job) -> auto& { return job.training.penalty.r2_gamma; }, kZeroOrMore))));
}

void add_autoencoding(Keys& keys) {
  keys.push_back(for_recipes(
      &Recipe::compares_values,
      with_default(choice_key(
                       {"training.reconstruction", "",
                        "Likelihood of an example: of shades as probabilities of white, or around "
                        "values as a "
                        "Gaussian or a Laplacian"},
                       [](auto& job) -> auto& { return job.training.autoencoder.reconstruction; }),
                   "squared for points, else bernoulli")));
  keys.push_back(for_autoencoders(real_key(
      {"training.kl_weight", "", "beta of the code's divergence (Higgins et al., 2017)"},
      [](auto& job) -> auto& { return job.training.autoencoder.kl_weight; }, kZeroOrMore)));
  keys.push_back(for_recipes(
      &Recipe::compares_features,
      later(real_key(
          {"training.adversarial_weight", "",
           "Of the discriminator's loss beside the reconstruction's in what the generator learns "
           "from: 1 / gamma (vae-gan, Larsen et al., 2016)"},
          [](auto& job) -> auto& { return job.training.autoencoder.adversarial_weight; },
          kZeroOrMore))));
}

void add_information(Keys& keys) {
  keys.push_back(for_codes(later(real_key(
      {"training.information_weight", "",
       "lambda of the information about the latent codes (InfoGAN, Chen et al., 2016)"},
      [](auto& job) -> auto& { return job.training.information.weight; }, kZeroOrMore))));
  keys.push_back(for_codes(later(real_key(
      {"training.codes_weight", "",
       "Weight of the continuous codes' share of it, beside the categorical one's"},
      [](auto& job) -> auto& { return job.training.information.codes; }, kZeroOrMore))));
}

void add_numerics(const Recipe& recipe, Keys& keys) {
  keys.push_back(whole_key({"numerics.threads", "threads",
                            "Compute threads of a worker; another number gives other bits"},
                           [](auto& job) -> auto& { return job.numerics.threads; }, {1, 1024}));
  keys.push_back(choice_key(
      {"numerics.memory_format", "", "Order of image tensors in memory"},
      [](auto& job) -> auto& { return job.numerics.memory_format; }));
  keys.push_back(wire_key(
      {"numerics.wire", "",
       "Number format of gradients and new weights between hosts; all but fp32 are inexact, as in "
       "{generator: bf16, discriminator: fp32}"},
      recipe));
  keys.push_back(choice_key(
      {"numerics.device", "", "Kind of device that computes"},
      [](auto& job) -> auto& { return job.numerics.device; }));
  keys.push_back(for_gpus(choice_key(
      {"numerics.order", "",
       "In which order micro-batches' gradients are added: as the job's tree has them, or as NCCL "
       "likes, which is inexact"},
      [](auto& job) -> auto& { return job.numerics.order; })));
  keys.push_back(for_gpus(choice_key(
      {"numerics.kernels", "",
       "What a GPU computes with: deterministic kernels, or the fastest, which is inexact"},
      [](auto& job) -> auto& { return job.numerics.kernels; })));
}

void add_layout(Keys& keys) {
  keys.push_back(auto_or_whole_key(
      {"layout.data", "workers", "Workers that share the micro-batches; auto: all started"},
      [](auto& job) -> auto& { return job.layout.data; }, {1, 65'536}));
  keys.push_back(
      whole_key({"layout.stages", "", "Pieces that the networks are cut into; 1 for now"},
                [](auto& job) -> auto& { return job.layout.stages; }, {1, 65'536}));
  keys.push_back(whole_key({"layout.tensor", "", "Workers that share one tensor; 1 for now"},
                           [](auto& job) -> auto& { return job.layout.tensor; }, {1, 65'536}));
  keys.push_back(choice_key(
      {"layout.transport", "",
       "What carries data between workers: shared memory on one host, MPI, or both by hosts; nccl "
       "between GPUs, which auto chooses there"},
      [](auto& job) -> auto& { return job.layout.transport; }));
  keys.push_back(choice_key(
      {"layout.overlap", "",
       "What the exchange runs beside: nothing, the backward pass, or the other network's work "
       "too"},
      [](auto& job) -> auto& { return job.layout.overlap; }));
  keys.push_back(
      real_key({"layout.timeout_seconds", "seconds", "Deadline of every wait on another worker"},
               [](auto& job) -> auto& { return job.layout.timeout_seconds; },
               {.low = 0.1, .high = 86'400.0}));
  keys.push_back(
      whole_key({"layout.check_steps", "steps",
                 "From one comparison of the hosts' weights, by hashes, to the next; 0: never"},
                [](auto& job) -> auto& { return job.layout.check_steps; }, {0, 1'000'000'000}));
  keys.push_back(choice_key(
      {"layout.audit", "",
       "Whether, every check_steps, other workers recompute a random slice of each update"},
      [](auto& job) -> auto& { return job.layout.audit; }));
}

void add_checkpoint(Keys& keys) {
  keys.push_back(real_key(
      {"checkpoint.every_kimg", kKimg, "From one checkpoint to the next; 0: not by images"},
      [](auto& job) -> auto& { return job.checkpoint.every_kimg; }, kZeroOrMore));
  keys.push_back(real_key(
      {"checkpoint.every_seconds", "seconds", "From one checkpoint to the next; 0: not by time"},
      [](auto& job) -> auto& { return job.checkpoint.every_seconds; }, kZeroOrMore));
  keys.push_back(whole_key(
      {"checkpoint.every_steps", "steps", "From one checkpoint to the next; 0: not by steps"},
      [](auto& job) -> auto& { return job.checkpoint.every_steps; }, {0, 1'000'000'000}));
  keys.push_back(auto_or_whole_key(
      {"checkpoint.snapshot_steps", "steps",
       "From one snapshot in memory to the next; auto: under 0.5 % of the time; 0: none"},
      [](auto& job) -> auto& { return job.checkpoint.snapshot_steps; }, {0, 1'000'000'000},
      CheckpointSpec::kAutoSnapshots));
  keys.push_back(whole_key({"checkpoint.keep", "", "Newest checkpoints that are kept"},
                           [](auto& job) -> auto& { return job.checkpoint.keep; }, {1, 1'000'000}));
  keys.push_back(real_key(
      {"checkpoint.keep_every", kKimg,
       "The first checkpoint of each stretch so long is kept for good; 0: none is"},
      [](auto& job) -> auto& { return job.checkpoint.keep_every; }, kZeroOrMore));
  keys.push_back(
      whole_key({"checkpoint.keep_best", "",
                 "Checkpoints with the best scores that are kept as well; 0: none is scored"},
                [](auto& job) -> auto& { return job.checkpoint.keep_best; }, {0, 1'000'000}));
  keys.push_back(whole_key({"checkpoint.score_samples", "", "Generated examples of a score"},
                           [](auto& job) -> auto& { return job.checkpoint.score_samples; },
                           {100, 1'000'000}));
}

void add_output(Keys& keys) {
  keys.push_back(real_key(
      {"output.tick_kimg", kKimg, "From one line of progress to the next"},
      [](auto& job) -> auto& { return job.output.tick_kimg; }, kAboveZero));
  keys.push_back(real_key(
      {"output.pictures_kimg", kKimg, "From one picture of fakes to the next; 0: only at the end"},
      [](auto& job) -> auto& { return job.output.pictures_kimg; }, kZeroOrMore));
  keys.push_back(whole_key({"output.grid", "pictures", "Side of a picture's grid"},
                           [](auto& job) -> auto& { return job.output.grid; }, {1, 64}));
}

void mark_speed_only(Keys& keys) {
  for (Key& key : keys) {
    const std::string section = key.path.substr(0, key.path.find('.'));
    if (section == "layout" || section == "checkpoint" || section == "output") {
      key.changes_weights = false;
    }
  }
}

Keys make_table(const Recipe& recipe) {
  Keys keys;
  add_model(recipe, keys);
  add_data(keys);
  add_training(keys);
  add_losses(keys);
  add_autoencoding(keys);
  add_information(keys);
  add_network_keys(recipe, keys);
  add_numerics(recipe, keys);
  add_layout(keys);
  add_checkpoint(keys);
  add_output(keys);
  mark_speed_only(keys);
  return keys;
}

}  // namespace

const std::vector<Key>& key_table(const Recipe& recipe) {
  static PerRecipe<Keys> tables(make_table);
  return tables.of(recipe);
}

}  // namespace gangway
