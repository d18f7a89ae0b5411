// SPDX-License-Identifier: MIT
#include <string>

#include <fmt/format.h>

#include "job/choices.hpp"
#include "job/families/families.hpp"
#include "job/rules/rule.hpp"

namespace gangway {
namespace {

std::string check_augmented_family(const JobSpec& job) {
  const ModelFamily& family = *job.model.family;
  return family.judges_depths && job.training.augment.is_any()
             ? fmt::format(
                   "family {} judges pictures of several depths, which no policy transforms; use "
                   "none",
                   family.name)
             : "";
}

std::string check_kinds(const JobSpec& job) {
  const AugmentationSpec& augment = job.training.augment;
  if (!augment.is_any() || augment.kinds().is_within(available_kinds(augment.policy))) {
    return {};
  }
  std::string names;
  for (const auto& choice : choices(AugmentKind{})) {
    if (available_kinds(augment.policy).has(choice.value)) {
      names += fmt::format("{}{}", names.empty() ? "" : ", ", choice.name);
    }
  }
  return fmt::format("policy {} has {}; use some of these", name_of(augment.policy), names);
}

std::string check_multipliers(const JobSpec& job) {
  const AugmentationSpec& augment = job.training.augment;
  if (augment.policy != AugmentPolicy::kAda) {
    return {};
  }
  for (const auto& choice : choices(AugmentKind{})) {
    if (augment.multiplier(choice.value) != 1.0 && !augment.kinds().has(choice.value)) {
      return fmt::format("{} is not among training.augment.kinds; leave it out", choice.name);
    }
  }
  return {};
}

std::string check_adaptive_loss(const JobSpec& job) {
  const LossKind loss = job.training.loss;
  return job.training.augment.is_adaptive() && loss != LossKind::kNonsaturating &&
                 loss != LossKind::kHinge
             ? fmt::format(
                   "an adaptive strength follows the sign of logits, which has no meaning with "
                   "loss {}; use nonsaturating or hinge, or a number as the strength",
                   name_of(loss))
             : "";
}

std::string check_adaptive_judge(const JobSpec& job) {
  return job.training.augment.is_adaptive() && job.training.recipe->augments &&
                 job.network("discriminator").is_frozen
             ? "a frozen discriminator's strength does not adapt; use a number"
             : "";
}

}  // namespace

std::vector<Rule> augment_rules() {
  return {
      {{"training.augment.policy", "model.family"},
       fmt::format("`training.augment.policy` is none with `model.family` {}.",
                   family_names(" or ", &ModelFamily::judges_depths)),
       check_augmented_family},
      {{"training.augment.kinds", "training.augment.policy"},
       "`training.augment.kinds` are those that `training.augment.policy` has.",
       check_kinds,
       {"training.augment.kinds"}},
      {{"training.augment.multipliers", "training.augment.kinds"},
       "`training.augment.multipliers` are of kinds that `training.augment.kinds` has.",
       check_multipliers,
       {"training.augment.multipliers"}},
      {{"training.augment.strength", "training.augment.policy", "training.loss"},
       "`training.augment.strength` adaptive goes with `training.loss` nonsaturating or hinge.",
       check_adaptive_loss},
      {{"training.augment.strength", "discriminator.frozen"},
       "`training.augment.strength` adaptive needs a discriminator that is trained.",
       check_adaptive_judge},
  };
}

}  // namespace gangway
