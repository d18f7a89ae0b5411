// SPDX-License-Identifier: MIT
#include "job/decisions.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace gangway {
namespace {

constexpr std::array<std::pair<std::string_view, DecisionKind>, 5> kDecisionNames{
    {{"branch", DecisionKind::kBranch},
     {"rollback", DecisionKind::kRollback},
     {"score", DecisionKind::kScore},
     {"plateau", DecisionKind::kPlateau},
     {"early-stop", DecisionKind::kEarlyStop}}};

/// Returns whether later steps get other settings.
bool changes_settings(const Decision& decision) {
  return decision.kind == DecisionKind::kRollback || decision.kind == DecisionKind::kPlateau;
}

std::vector<SettingsChange> changes_before(std::int64_t step, std::span<const Decision> decisions) {
  std::vector<SettingsChange> changes = changes_of(decisions);
  std::erase_if(changes, [step](const SettingsChange& change) { return change.step >= step; });
  return changes;
}

}  // namespace

std::string_view name_of(DecisionKind kind) {
  return std::ranges::find(kDecisionNames, kind, &decltype(kDecisionNames)::value_type::second)
      ->first;
}

std::optional<DecisionKind> decision_kind(std::string_view name) {
  const auto* const found =
      std::ranges::find(kDecisionNames, name, &decltype(kDecisionNames)::value_type::first);
  return found == kDecisionNames.end() ? std::nullopt : std::optional(found->second);
}

StepSettings settings_at(std::uint64_t seed, std::span<const SettingsChange> changes,
                         std::int64_t step) {
  StepSettings settings;
  int retry = 0;
  for (const SettingsChange& change : changes) {
    if (change.step <= step) {
      settings.lr_factor *= change.lr_factor;
      retry = std::max(retry, change.reseed);
    }
  }
  settings.seed = seed_of_retry(seed, retry);
  return settings;
}

std::uint64_t seed_of_retry(std::uint64_t seed, int number) {
  if (number == 0) {
    return seed;
  }
  // SplitMix64 (Steele, Lea, Flood, 2014): one to one in `seed`, and in `number` for each seed.
  std::uint64_t hash = seed + static_cast<std::uint64_t>(number) * 0x9e3779b97f4a7c15U;
  hash = (hash ^ (hash >> 30U)) * 0xbf58476d1ce4e5b9U;
  hash = (hash ^ (hash >> 27U)) * 0x94d049bb133111ebU;
  return hash ^ (hash >> 31U);
}

std::vector<SettingsChange> changes_of(std::span<const Decision> decisions) {
  std::vector<SettingsChange> changes;
  for (const Decision& decision : decisions) {
    if (changes_settings(decision)) {
      changes.push_back(decision.change);
    }
  }
  return changes;
}

int num_rollbacks(std::span<const Decision> decisions) {
  return static_cast<int>(std::ranges::count(decisions, DecisionKind::kRollback, &Decision::kind));
}

std::int64_t origin_of(std::span<const Decision> decisions) {
  std::int64_t origin = 0;
  for (const Decision& decision : decisions) {
    if (decision.kind == DecisionKind::kBranch) {
      origin = std::max(origin, decision.change.step);
    }
  }
  return origin;
}

bool is_on_the_way(std::int64_t step, std::span<const Decision> then,
                   std::span<const Decision> now) {
  return changes_before(step, then) == changes_before(step, now);
}

bool is_on_the_way(std::int64_t step, std::int64_t start, std::span<const Decision> now) {
  // Later starts already follow a rollback. A plateau is decided before the steps that it changes.
  return std::ranges::none_of(now, [&](const Decision& decision) {
    const bool is_behind_rollback = decision.kind == DecisionKind::kRollback &&
                                    decision.start >= start && decision.change.step < step;
    // A branch replaces all earlier states, of any step.
    const bool is_before_branch = decision.kind == DecisionKind::kBranch && decision.start > start;
    return is_behind_rollback || is_before_branch;
  });
}

}  // namespace gangway
