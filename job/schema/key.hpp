// One key of the job file as data. Parsing, printing, "did you mean" and the reference page all
// read it. Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "job/schema/yaml_tree.hpp"
#include "job/spec.hpp"

namespace gangway {

/// Path of the key that decides which networks the other keys are about.
inline constexpr std::string_view kRecipeKey = "training.recipe";

struct Key {
  std::string path;          ///< `training.kimg`
  std::string type;          ///< number, whole number, text …
  std::string allowed;       ///< range or choices, for people
  std::string unit;          ///< empty: none
  std::string description;   ///< one line
  std::string default_note;  ///< where the default depends on other keys; else empty
  bool changes_weights = true;
  bool is_fingerprinted_at_default = true;  ///< false: newer than fingerprints
  bool is_variant = false;  ///< a map that is a choice (`optimizer: {adam: …}`), one entry at most
  bool has_members = false;  ///< reads `path.NAME=value` as the map {NAME: value}
  /// Sets the value in the job. Returns the complaint, or nothing.
  std::function<std::string(const YamlNode&, JobSpec&)> set;
  /// Returns the value as YAML on one line; empty for a variant.
  std::function<std::string(const JobSpec&)> get;
  /// Returns the part of the value that affects weights, without any path; null: `get`.
  std::function<std::string(const JobSpec&)> get_weighty;
  /// Returns why the key does not apply to this job; empty if it does.
  std::function<std::string(const JobSpec&)> why_refused;

  /// Returns everything before the last dot.
  [[nodiscard]] std::string parent() const;
  [[nodiscard]] std::string weighty(const JobSpec& spec) const {
    return get_weighty ? get_weighty(spec) : get(spec);
  }
  [[nodiscard]] bool applies(const JobSpec& spec) const { return why_refused(spec).empty(); }
};

/// Returns GANGWAY_TRAINING_KIMG for training.kimg.
[[nodiscard]] std::string environment_name(const std::string& path);

/// Returns all keys of a job of `recipe`, in print order. References stay valid; any thread.
[[nodiscard]] const std::vector<Key>& key_table(const Recipe& recipe = *default_recipe());

/// Returns the maps that hold keys: `training`, `training.r1` …, each once, in the table's order.
[[nodiscard]] std::vector<std::string> sections_of(const std::vector<Key>& keys);

/// Returns the default of a key of key_table(recipe), as printed in a resolved job.
[[nodiscard]] std::string default_of(const Key& key, const Recipe& recipe = *default_recipe());

}  // namespace gangway
