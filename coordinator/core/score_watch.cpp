// SPDX-License-Identifier: MIT
#include "coordinator/core/score_watch.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "coordinator/core/lease_book.hpp"

namespace gangway::coordinator {
namespace {

/// Returns the newest step with a recorded score or a recorded lack of a score; 0: none.
std::int64_t newest_scored(const Decisions& decisions) {
  std::int64_t newest = 0;
  for (const Decision& decision : decisions) {
    if (decision.kind == DecisionKind::kScore) {
      newest = std::max(newest, decision.seen);
    }
  }
  return newest;
}

/// State of the plateau rules after the recorded scores.
struct PlateauState {
  std::optional<double> best;
  std::int64_t best_step = 0;
  int without_better = 0;  ///< scores since best_step
  int since_lowered = 0;   ///< scores without a better one since the last lowering
};

PlateauState standing_of(const Decisions& decisions) {
  PlateauState standing;
  for (const Decision& decision : decisions) {
    if (decision.kind == DecisionKind::kPlateau) {
      standing.since_lowered = 0;
    }
    if (decision.kind != DecisionKind::kScore || !decision.score) {
      continue;
    }
    if (!standing.best || *decision.score < *standing.best) {
      standing = {.best = decision.score, .best_step = decision.seen};
    } else {
      ++standing.without_better;
      ++standing.since_lowered;
    }
  }
  return standing;
}

}  // namespace

ScorePlan score_plan(const JobSpec& job) {
  auto steps = job.checkpoint_steps();
  if (steps.back() > 0) {
    steps = {steps.back()};
  }
  return {.plateau = job.training.plateau,
          .early_stop = job.checkpoint.early_stop,
          .checkpoint_steps = steps,
          .total_steps = job.total_steps()};
}

bool ScorePlan::counts(std::int64_t step) const {
  return is_marked(step, checkpoint_steps, total_steps);
}

std::int64_t ScorePlan::next(std::int64_t step) const {
  std::int64_t first = total_steps;
  for (const std::int64_t interval : checkpoint_steps) {
    const std::int64_t candidate = interval > 0 ? (step / interval + 1) * interval : total_steps;
    if (candidate < first && counts(candidate)) {
      first = candidate;  // if this is too near to the end, so are later multiples
    }
  }
  return first;
}

std::int64_t ScorePlan::last_before(std::int64_t step) const {
  std::int64_t last = 0;
  for (const std::int64_t interval : checkpoint_steps) {
    std::int64_t candidate = interval > 0 ? (step - 1) / interval * interval : 0;
    while (candidate > 0 && !counts(candidate)) {
      candidate -= interval;
    }
    last = std::max(last, candidate);
  }
  return last;
}

Decisions ScoreWatch::found(const Decisions& earlier, const ScoreFound& score,
                            std::int64_t start) const {
  const bool is_known = std::ranges::any_of(earlier, [&](const Decision& decision) {
    return decision.kind == DecisionKind::kScore && decision.seen == score.step;
  });
  if (!plan_.is_any() || is_known || !plan_.counts(score.step)) {
    return {};
  }
  const std::int64_t from = plan_.next(score.step);
  const auto decide = [&](DecisionKind kind, std::string why) {
    return Decision{.kind = kind,
                    .change = {.step = from},
                    .why = std::move(why),
                    .seen = score.step,
                    .start = start,
                    .score = {}};
  };
  Decisions news{decide(DecisionKind::kScore, score.value ? score.shown : "could not be scored")};
  news.back().score = score.value;
  Decisions all = earlier;
  all.push_back(news.back());
  const PlateauState standing = standing_of(all);
  if (from >= plan_.total_steps || !score.value) {
    return news;
  }
  const auto why = [&](int scores) {
    return fmt::format("{} not better than that of step {}",
                       scores == 1 ? "a score is" : fmt::format("{} scores in a row are", scores),
                       standing.best_step);
  };
  if (plan_.early_stop > 0 && standing.without_better >= plan_.early_stop) {
    news.push_back(decide(DecisionKind::kEarlyStop, why(standing.without_better)));
  } else if (plan_.plateau.patience > 0 && standing.since_lowered >= plan_.plateau.patience) {
    news.push_back(decide(DecisionKind::kPlateau, why(standing.since_lowered)));
    news.back().change.lr_factor = plan_.plateau.factor;
  }
  return news;
}

std::optional<std::int64_t> ScoreWatch::unscored(const Decisions& decisions,
                                                 std::int64_t begin) const {
  const std::vector<std::int64_t> steps = unscored_steps(decisions, begin);
  return steps.empty() ? std::nullopt : std::optional(steps.front());
}

std::vector<std::int64_t> ScoreWatch::unscored_steps(const Decisions& decisions,
                                                     std::int64_t begin) const {
  std::vector<std::int64_t> steps;
  if (!plan_.is_any()) {
    return steps;
  }
  // Checkpoints before a branch belong to another run.
  const std::int64_t known = std::max(newest_scored(decisions), origin_of(decisions));
  // If training ended while it waited for a score, the step that it waited at has no score either.
  const std::int64_t newest = plan_.last_before(begin + 1);
  for (const std::int64_t step : {plan_.last_before(newest), newest}) {
    if (step > known) {
      steps.push_back(step);
    }
  }
  return steps;
}

std::optional<std::int64_t> ScoreWatch::gate(const Decisions& decisions, std::int64_t begin) const {
  if (!plan_.is_any()) {
    return std::nullopt;
  }
  const std::int64_t passed = std::max(newest_scored(decisions), plan_.last_before(begin + 1));
  const std::int64_t awaited = unscored(decisions, begin).value_or(plan_.next(passed));
  const std::int64_t gate = plan_.next(awaited);
  return awaited < plan_.total_steps && gate < plan_.total_steps ? std::optional(gate)
                                                                 : std::nullopt;
}

}  // namespace gangway::coordinator
