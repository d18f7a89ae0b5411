// SPDX-License-Identifier: MIT
// One key of the job file as data: parsing, printing, "did you mean" and the reference page all
// read this. Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "job/schema/yaml_tree.hpp"
#include "job/spec.hpp"

namespace gangway {

/// Of the key that says which networks other keys are about.
inline constexpr std::string_view kRecipeKey = "training.recipe";

struct Key {
  std::string path;          ///< `training.kimg`
  std::string type;          ///< number, whole number, text …
  std::string allowed;       ///< range or choices, for people
  std::string unit;          ///< empty: none
  std::string description;   ///< one line
  std::string default_note;  ///< where the default depends on other keys; else empty
  bool changes_weights = true;
  bool is_fingerprinted_at_default = true;  ///< false: came after jobs had fingerprints
  bool is_variant = false;  ///< a map that is itself a choice (`optimizer: {adam: …}`), one at most
  bool has_members = false;  ///< `path.NAME=value` is taken over as the map {NAME: value}
  /// Takes the value over. Returns what is wrong with it, or nothing.
  std::function<std::string(const YamlNode&, JobSpec&)> set;
  /// The value as YAML on one line; empty for a variant.
  std::function<std::string(const JobSpec&)> get;
  /// What of the value decides about weights, where it names a place as well; null: `get`.
  std::function<std::string(const JobSpec&)> get_weighty;
  /// Why the key has no place in this job; empty if it has.
  std::function<std::string(const JobSpec&)> why_refused;

  /// Everything before the last dot.
  [[nodiscard]] std::string parent() const;
  [[nodiscard]] std::string weighty(const JobSpec& spec) const {
    return get_weighty ? get_weighty(spec) : get(spec);
  }
  [[nodiscard]] bool applies(const JobSpec& spec) const { return why_refused(spec).empty(); }
};

/// GANGWAY_TRAINING_KIMG for training.kimg.
[[nodiscard]] std::string environment_name(const std::string& path);

/// All keys of a job of `recipe`, in the order in which they are printed. They stay where they are;
/// any thread.
[[nodiscard]] const std::vector<Key>& key_table(const Recipe& recipe = *default_recipe());

/// The maps that hold keys: `training`, `training.r1` …, each once, in the table's order.
[[nodiscard]] std::vector<std::string> sections_of(const std::vector<Key>& keys);

/// The value that is printed for a key of key_table(recipe), as in the resolved job.
[[nodiscard]] std::string default_of(const Key& key, const Recipe& recipe = *default_recipe());

}  // namespace gangway
