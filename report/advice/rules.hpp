// SPDX-License-Identifier: MIT
// The rules of advice, each a share of a step with a threshold, and what to do about it.
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
  /// "data.cache=auto": what a program can take as it is, words apart; null: nothing.
  std::string (*keys)(const StepFacts&) = nullptr;
  /// What else helps, behind the keys; null: nothing.
  std::string (*remedy)(const StepFacts&) = nullptr;
  bool changes_numbers = false;
  bool needs_restart = true;
  bool is_saved = true;  ///< the share is time that would be saved
};

/// Of what a step is made of.
[[nodiscard]] std::span<const Rule> step_rules();
/// Of what the machine gives: cores and memory.
[[nodiscard]] std::span<const Rule> machine_rules();

/// "12%".
[[nodiscard]] std::string percent(double share);

}  // namespace gangway::report
