// SPDX-License-Identifier: MIT
#include "job/rules/discriminator_rules.hpp"

#include <fmt/format.h>

#include "job/choices.hpp"

namespace gangway {
namespace {

/// Whether the loss compares each image's logit with a target of its own.
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
             ? "loss relativistic looks at differences, so what a discriminator says of one image "
               "has no level to be drawn to; use another training.loss, or 0"
             : "";
}

}  // namespace

std::vector<Rule> discriminator_rules() {
  return {
      {{"training.label_smoothing", "training.label_noise", "training.loss"},
       "`training.label_smoothing` and `training.label_noise` go with `training.loss` "
       "nonsaturating and least-squares.",
       check_labels},
      {{"training.lecam.weight", "training.loss"},
       "`training.lecam.weight` is 0 with `training.loss` relativistic.",
       check_lecam},
  };
}

}  // namespace gangway
