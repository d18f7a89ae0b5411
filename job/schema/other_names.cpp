// SPDX-License-Identifier: MIT
#include "job/schema/other_names.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace gangway {
namespace {

struct OtherName {
  std::string_view other;
  std::string_view key;  ///< begins with a point: a network's key
};

constexpr std::array kOtherNames = {
    OtherName{"accum_steps", "training.microbatches"},
    OtherName{"accumulation_steps", "training.microbatches"},
    OtherName{"amp", "numerics.precision"},
    OtherName{"batch_size", "training.batch"},
    OtherName{"beta1", ".optimizer.adam.betas"},
    OtherName{"data_dir", "data.source"},
    OtherName{"dataroot", "data.source"},
    OtherName{"dataset", "data.source"},
    OtherName{"dtype", "numerics.precision"},
    OtherName{"ema", ".ema_kimg"},
    OtherName{"ema_decay", ".ema_kimg"},
    OtherName{"epochs", "training.kimg"},
    OtherName{"fp16", "numerics.precision"},
    OtherName{"gan_mode", "training.loss"},
    OtherName{"gradient_accumulation_steps", "training.microbatches"},
    OtherName{"image_size", "model.resolution"},
    OtherName{"img_size", "model.resolution"},
    OtherName{"iterations", "training.kimg"},
    OtherName{"lambda_gp", "training.gradient_penalty"},
    OtherName{"latent_dim", "model.latent"},
    OtherName{"learning_rate", ".optimizer.adam.lr"},
    OtherName{"lr_scheduler", ".schedule.decay"},
    OtherName{"max_grad_norm", ".clip_norm"},
    OtherName{"max_steps", "training.kimg"},
    OtherName{"mixed_precision", "numerics.precision"},
    OtherName{"n_classes", "model.classes"},
    OtherName{"n_critic", "discriminator.steps"},
    OtherName{"ndf", "model.width"},
    OtherName{"ngf", "model.width"},
    OtherName{"num_classes", "model.classes"},
    OtherName{"num_epochs", "training.kimg"},
    OtherName{"num_workers", "data.threads"},
    OtherName{"nz", "model.latent"},
    OtherName{"r1_gamma", "training.r1.gamma"},
    OtherName{"random_seed", "training.seed"},
    OtherName{"root", "data.source"},
    OtherName{"save_every", "checkpoint.every_kimg"},
    OtherName{"z_dim", "model.latent"},
};

}  // namespace

std::optional<std::string> key_called_otherwise(const std::string& path,
                                                const std::vector<std::string>& known) {
  const std::string_view last = std::string_view(path).substr(path.rfind('.') + 1);
  const auto* const found = std::ranges::find(kOtherNames, last, &OtherName::other);
  if (found == kOtherNames.end()) {
    return std::nullopt;
  }
  const std::string key(found->key);
  const std::string section = path.substr(0, path.find('.'));
  for (const std::string& candidate : {key, section + key, "generator" + key}) {
    if (std::ranges::find(known, candidate) != known.end()) {
      return candidate;
    }
  }
  return std::nullopt;
}

}  // namespace gangway
