// SPDX-License-Identifier: MIT
// A rule between keys, as a value, and the lists of rules that job/rules/rules.cpp joins. A list
// has a source of its name. Pure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "job/models/recipes.hpp"
#include "job/spec.hpp"

namespace gangway {

struct Rule {
  std::vector<std::string>
      keys;               ///< that the rule is about; blames the first if the user gave none
  std::string statement;  ///< for the reference page
  std::function<std::string(const JobSpec&)>
      complaint;  ///< the error and its remedy; empty if the rule holds
  /// Of `keys`, those that only detail a choice. If a later place (environment, command line) makes
  /// another choice, they are left out with it.
  std::vector<std::string> companions = {};
};

/// Rules between augmentation and the rest of a job.
[[nodiscard]] std::vector<Rule> augment_rules();
/// Rules between the keys of data.
[[nodiscard]] std::vector<Rule> data_rules();
/// Rules about a discriminator's regularisation beside its loss.
[[nodiscard]] std::vector<Rule> discriminator_rules();
/// Rules about a generator that learns from a teacher.
[[nodiscard]] std::vector<Rule> distill_rules();
/// Rules against keys without effect: given keys of a feature that is off.
[[nodiscard]] std::vector<Rule> idle_rules();
/// Rules between family, recipe, data and batch.
[[nodiscard]] std::vector<Rule> model_rules();
/// Rules between the keys of the live page and of control.
[[nodiscard]] std::vector<Rule> output_rules();
/// Rules about networks that only some workers hold.
[[nodiscard]] std::vector<Rule> placement_rules(const Recipe& recipe);
/// Rules for all schedules (job/schedules/schedule.hpp) of a job of `recipe`.
[[nodiscard]] std::vector<Rule> schedule_rules(const Recipe& recipe);

}  // namespace gangway
