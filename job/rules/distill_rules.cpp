// SPDX-License-Identifier: MIT
#include <string>

#include <fmt/format.h>

#include "job/families/families.hpp"
#include "job/models/narrowing.hpp"
#include "job/rules/rule.hpp"

namespace gangway {
namespace {

/// Returns why a generator of `width` cannot have the channels of one of `teacher_width`.
std::string complaint_about(ModelSpec model, int teacher_width, int width) {
  model.width = teacher_width;
  const Architecture teacher = architecture_of(model, "generator");
  model.width = width;
  return narrowing_complaint(teacher, architecture_of(model, "generator"));
}

bool can_prune(const ModelFamily& family) {
  ModelSpec model{.family = &family};
  model.resolution = family.resolutions.empty() ? model.resolution : family.resolutions.front();
  return has_role(family, "generator") && has_role(family, "trunk") &&
         complaint_about(model, 2 * model.width, model.width).empty();
}

std::string check_weights(const JobSpec& job) {
  const DistillSpec& spec = job.training.distill;
  return job.training.recipe->distils() &&
                 spec.adversarial_weight + spec.picture_weight + spec.feature_weight == 0.0
             ? "set one of training.distill.picture_weight, feature_weight and adversarial_weight "
               "above 0"
             : "";
}

std::string check_prune(const JobSpec& job) {
  if (!job.training.recipe->distils() || !job.training.distill.prunes) {
    return {};
  }
  const NetworkSpec& generator = job.network("generator");
  const bool has_others =
      !generator.weights.empty() || generator.initialization.kind != InitializationKind::kFamily;
  const bool is_own = !generator.module.file.empty() || !job.network("teacher").module.file.empty();
  if (has_others || is_own) {
    return fmt::format("the generator begins with the teacher's channels; leave {} out",
                       is_own ? "model.generator and model.teacher"
                              : "generator.weights and generator.initialization");
  }
  if (!has_role(*job.model.family, "generator")) {
    return {};  // another rule reports it
  }
  const std::string complaint =
      complaint_about(job.settled_model(), job.training.distill.teacher_width, job.model.width);
  return complaint.empty() ? ""
         : can_prune(*job.model.family)
             ? fmt::format(
                   "{}: model.teacher_width is {}, model.width {}; use twice or four times "
                   "the width, or false",
                   complaint, job.training.distill.teacher_width, job.model.width)
             : fmt::format("{} in family {}; use model.family {}, or false", complaint,
                           job.model.family->name, family_names(" or ", can_prune));
}

}  // namespace

std::vector<Rule> distill_rules() {
  return {
      {{"training.distill.picture_weight", "training.distill.feature_weight",
        "training.distill.adversarial_weight"},
       "One of the weights of `training.distill` is above 0.",
       check_weights},
      {{"generator.prune", "model.teacher_width", "model.family", "generator.weights",
        "generator.initialization"},
       fmt::format("`generator.prune` needs `model.family` {}, `model.teacher_width` of "
                   "`model.width` at least, and excludes `generator.weights` and "
                   "`generator.initialization`.",
                   family_names(" or ", can_prune)),
       check_prune},
  };
}

}  // namespace gangway
