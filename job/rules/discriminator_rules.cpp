// SPDX-License-Identifier: MIT
#include <algorithm>

#include <fmt/format.h>

#include "job/choices.hpp"
#include "job/rules/rule.hpp"

namespace gangway {
namespace {

/// Returns whether the loss compares each image's logit with its own target.
bool has_targets(LossKind loss) {
  return loss == LossKind::kNonsaturating || loss == LossKind::kLeastSquares;
}

std::string check_labels(const JobSpec& job) {
  const TrainingSpec& training = job.training;
  return training.labels.is_any() && !has_targets(training.loss)
             ? fmt::format(
                   "loss {} has no target for a real image that could be smoothed or flipped; use "
                   "nonsaturating or least-squares, or 0",
                   name_of(training.loss))
             : "";
}

std::string check_lecam(const JobSpec& job) {
  const TrainingSpec& training = job.training;
  return training.lecam.is_any() && training.loss == LossKind::kRelativistic
             ? "loss relativistic uses differences of logits, so the logit of one image has no "
               "level to be drawn to; use another training.loss, or 0"
             : "";
}

std::string check_generator_reals(const JobSpec& job) {
  const TrainingSpec& training = job.training;
  if (training.generator_reals == GeneratorReals::kSame) {
    return {};
  }
  if (training.reuse_fakes) {
    return "fakes that are taken from the discriminator's phase belong to the real examples there; "
           "leave training.reuse_fakes out, or use same";
  }
  const bool is_frozen = std::ranges::any_of(job.networks, &NetworkSpec::is_frozen);
  return is_frozen ? "with a frozen network only one phase reads real examples; use same" : "";
}

}  // namespace

std::vector<Rule> discriminator_rules() {
  return {
      {{"training.generator_reals", "training.reuse_fakes"},
       "`training.generator_reals` is same with `training.reuse_fakes`, and where a network is "
       "frozen.",
       check_generator_reals},
      {{"training.label_smoothing", "training.label_noise", "training.loss"},
       "`training.label_smoothing` and `training.label_noise` go with `training.loss` "
       "nonsaturating and least-squares.",
       check_labels,
       {"training.label_smoothing", "training.label_noise"}},
      {{"training.lecam.weight", "training.loss"},
       "`training.lecam.weight` is 0 with `training.loss` relativistic.",
       check_lecam},
  };
}

}  // namespace gangway
