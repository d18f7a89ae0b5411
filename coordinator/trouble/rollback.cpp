// SPDX-License-Identifier: MIT
#include "coordinator/trouble/rollback.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace gangway::coordinator {
namespace {

/// Returns a number of retries that leaves some.
int more_retries(const DivergenceSpec& spec, const Decisions& decisions) {
  return std::max(num_rollbacks(decisions), spec.retries) + 3;
}

}  // namespace

std::int64_t rollback_step(std::int64_t trouble, std::int64_t rewind, std::int64_t origin) {
  return std::max(origin, rewind * (trouble / rewind - 1));
}

std::optional<Decision> rollback_of(const DivergenceSpec& spec, const Decisions& earlier,
                                    const Trouble& trouble, std::int64_t start) {
  const int number = num_rollbacks(earlier) + 1;
  if (spec.policy != DivergencePolicy::kRollback || number > spec.retries) {
    return std::nullopt;
  }
  return Decision{.kind = DecisionKind::kRollback,
                  .change = {.step = rollback_step(trouble.step, spec.rewind, origin_of(earlier)),
                             .lr_factor = spec.lr_factor,
                             .reseed = spec.reseed ? number : 0},
                  .why = trouble.what,
                  .seen = trouble.step,
                  .start = start,
                  .score = {}};
}

void add_rollback(Decisions& decisions, Decision rollback) {
  std::erase_if(decisions, [step = rollback.change.step](const Decision& decision) {
    return decision.seen > step && follows_from_scores(decision.kind);
  });
  decisions.push_back(std::move(rollback));
}

std::string describe_rollback(const DivergenceSpec& spec, const Decision& decision, int number) {
  return fmt::format("goes back to step {}, with learning rates times {}{} ({} of {})",
                     decision.change.step, decision.change.lr_factor,
                     decision.change.reseed > 0 ? " and new random numbers" : "", number,
                     spec.retries);
}

std::string change_after_trouble(const DivergenceSpec& spec, const Decisions& decisions) {
  return spec.policy == DivergencePolicy::kStop
             ? " training.divergence.policy=rollback"
             : fmt::format(" training.divergence.retries={}", more_retries(spec, decisions));
}

std::string rollback_story(const DivergenceSpec& spec, const Decisions& decisions) {
  std::vector<std::string> tried;
  for (const Decision& decision : decisions) {
    if (decision.kind == DecisionKind::kRollback) {
      tried.push_back(fmt::format("from step {} on with learning rates times {} after step {}",
                                  decision.change.step, decision.change.lr_factor, decision.seen));
    }
  }
  if (tried.empty()) {
    return {};
  }
  return fmt::format(
      "tried {}: {}; the same command with training.divergence.retries={} tries again (details: "
      "gangway events)",
      tried.size() == 1 ? "once" : fmt::format("{} times", tried.size()), fmt::join(tried, ", "),
      more_retries(spec, decisions));
}

}  // namespace gangway::coordinator
