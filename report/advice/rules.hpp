// SPDX-License-Identifier: MIT
// Rules of advice: each has a share of a step, a threshold and a remedy. Called by AdviceTracker.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "report/advice/step_facts.hpp"

namespace gangway::report {

struct Rule {
  std::string_view name;
  double threshold = 0.0;  ///< of a step, 0 to 1
  double (*share)(const StepFacts&) = nullptr;
  std::string (*evidence)(const StepFacts&) = nullptr;
  /// Returns keys to apply unchanged, "data.cache=auto", separated by spaces; null: none.
  std::string (*keys)(const StepFacts&) = nullptr;
  /// Returns further remedies as text, printed after the keys; null: none.
  std::string (*remedy)(const StepFacts&) = nullptr;
  bool changes_numbers = false;
  bool needs_restart = true;
  bool is_saved = true;  ///< the share is time that the remedy saves
};

/// Returns the rules about the parts of a step.
[[nodiscard]] std::span<const Rule> step_rules();
/// Returns the rules about the machine: cores and memory.
[[nodiscard]] std::span<const Rule> machine_rules();

/// Returns "12%".
[[nodiscard]] std::string percent(double share);

}  // namespace gangway::report
