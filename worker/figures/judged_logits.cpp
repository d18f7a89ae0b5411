// SPDX-License-Identifier: MIT
#include "worker/figures/judged_logits.hpp"

#include <algorithm>
#include <string_view>
#include <variant>

#include "job/choices.hpp"

namespace gangway::worker {
namespace {

using Origin = JudgedLogits::Origin;

/// Returns the origins of the inputs of that loss (gan/losses/losses.hpp).
std::vector<Origin> origins_of(std::string_view loss) {
  if (loss == name_of(LossKind::kRelativistic)) {
    return {Origin::kReal, Origin::kFake};
  }
  if (loss.ends_with("-real") || loss.ends_with("-targets")) {
    return {Origin::kReal};
  }
  return loss.ends_with("-fake") ? std::vector{Origin::kFake} : std::vector<Origin>();
}

/// Returns the logit at which a discriminator trained by this loss alone is undecided.
std::optional<double> boundary_of(LossKind loss) {
  switch (loss) {
    case LossKind::kNonsaturating:  // the logit of one half
    case LossKind::kHinge:
      return 0.0;
    case LossKind::kLeastSquares:  // its labels are 0 and 1
      return 0.5;
    case LossKind::kWasserstein:
    case LossKind::kRelativistic:
      return std::nullopt;
  }
  return std::nullopt;
}

bool is_made_by(NetworkId network, const std::string& tensor, const pipeline::Pass& pass) {
  return std::ranges::any_of(pass.nodes, [&](const pipeline::Node& node) {
    const auto* application = std::get_if<pipeline::Application>(&node);
    return application != nullptr && application->network == network &&
           std::ranges::count(pipeline::outputs_of(node), tensor) > 0;
  });
}

}  // namespace

std::vector<JudgedLogits> judged_by(const pipeline::Pass& pass, const pipeline::Loss& loss,
                                    const Job& job) {
  std::vector<JudgedLogits> judged;
  const std::vector<Origin> origins = origins_of(loss.function);
  for (std::size_t i = 0; i < std::min(origins.size(), loss.inputs.size()); ++i) {
    if (!loss.shown_with || !is_made_by(*loss.shown_with, loss.inputs[i], pass)) {
      continue;
    }
    const bool is_of_job = loss.function.starts_with(name_of(job.training.loss));
    judged.push_back({.network = job.networks[*loss.shown_with].name,
                      .origin = origins[i],
                      .tensor = loss.inputs[i],
                      .boundary = is_of_job ? boundary_of(job.training.loss) : std::nullopt});
  }
  return judged;
}

}  // namespace gangway::worker
