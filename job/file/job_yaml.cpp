// SPDX-License-Identifier: MIT
// Implements to_yaml, chosen_yaml and changed_keys of job/file/parse.hpp.
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "job/file/parse.hpp"
#include "job/schema/key.hpp"
#include "job/schema/yaml_tree.hpp"

namespace gangway {
namespace {

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= path.size()) {
    const std::size_t dot = std::min(path.find('.', begin), path.size());
    parts.push_back(path.substr(begin, dot - begin));
    begin = dot + 1;
  }
  return parts;
}

/// Returns the keys that apply and that `is_printed` accepts, as YAML.
std::string yaml_of(const JobSpec& spec, const std::function<bool(const Key&)>& is_printed) {
  std::string yaml;
  std::vector<std::string> open;  // the maps that contain the last line
  for (const Key& key : key_table(*spec.training.recipe)) {
    if (key.is_variant || !key.applies(spec) || !is_printed(key)) {
      continue;
    }
    const std::vector<std::string> parts = parts_of(key.path);
    std::size_t depth = 0;
    while (depth < open.size() && depth + 1 < parts.size() && open[depth] == parts[depth]) {
      ++depth;
    }
    open.resize(depth);
    for (; depth + 1 < parts.size(); ++depth) {
      yaml += std::string(2 * depth, ' ') + parts[depth] + ":\n";
      open.push_back(parts[depth]);
    }
    yaml += std::string(2 * depth, ' ') + parts.back() + ": " + key.get(spec) + "\n";
  }
  return yaml;
}

}  // namespace

std::string to_yaml(const JobSpec& spec) {
  return "# The resolved job: every key that applies. It runs again as it is.\n" +
         yaml_of(spec, [](const Key&) { return true; });
}

std::string chosen_yaml(const JobSpec& spec) {
  const JobSpec usual = JobSpec::of(*spec.training.recipe);
  const auto is_of_other_optimizer = [&](const Key& key) {
    return key.path.find(".optimizer.") != std::string::npos && !key.applies(usual);
  };
  return "# The job's keys that are not at their defaults (gangway job prints all). "
         "It runs again as it is.\n" +
         yaml_of(spec, [&](const Key& key) {
           return key.path == kRecipeKey || key.path == "model.family" ||
                  is_of_other_optimizer(key) ||
                  key.get(spec) != default_of(key, *spec.training.recipe);
         });
}

JobSpec with_keys_of(JobSpec job, const JobSpec& typed, const std::set<std::string>& keys) {
  for (const Key& key : key_table(*job.training.recipe)) {
    if (keys.contains(key.path)) {
      (void)key.set(read_yaml(key.get(typed)).root, job);
    }
  }
  return job;
}

std::vector<std::string> changed_keys(const JobSpec& from, const JobSpec& to) {
  std::vector<std::string> changed;
  for (const Key& key : key_table(*to.training.recipe)) {
    if (key.is_variant || !key.applies(to)) {
      continue;
    }
    if (std::string value = key.get(to); value != key.get(from)) {
      if (value.starts_with('[')) {
        std::erase(value, ' ');  // one word for a shell
      }
      changed.push_back(key.path + "=" + value);
    }
  }
  return changed;
}

}  // namespace gangway
