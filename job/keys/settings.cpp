// SPDX-License-Identifier: MIT
#include "job/keys/settings.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/text/suggestion.hpp"
#include "base/text/utf8.hpp"
#include "job/keys/per_recipe.hpp"
#include "job/schema/key_types.hpp"
#include "job/schema/other_names.hpp"

namespace gangway {
namespace {

/// Resolved jobs of earlier versions, in checkpoints, all give this key of an unused feature.
constexpr std::string_view kGoneKey = "layout.tensor";  // 1
/// Former name of a key, in such jobs and in people's job files.
constexpr std::string_view kFormerKey = "checkpoint.score_samples";
constexpr std::string_view kPresentKey = "evaluation.images";

std::string suggestion_text(const std::optional<std::string>& near, std::string_view otherwise) {
  return near ? fmt::format("; did you mean '{}'?", *near) : std::string(otherwise);
}

/// YAML's words for null.
bool is_null_word(std::string_view text) {
  return text == "null" || text == "Null" || text == "NULL" || text == "~";
}

}  // namespace

void Problems::add(std::string line) {
  if (is_full()) {
    has_more_ = true;
    return;
  }
  lines_.push_back(std::move(line));
}

std::vector<std::string> Problems::lines() const {
  std::vector<std::string> lines = lines_;
  if (has_more_) {
    lines.push_back(fmt::format("there are more than {} problems; mend these first", kMost));
  }
  return lines;
}

KeyIndex::KeyIndex(const std::vector<Key>& table) : sections(sections_of(table)) {
  for (const Key& key : table) {
    keys.emplace(key.path, &key);
    known.push_back(key.path);
    if (!key.is_variant) {
      environment_names.emplace(environment_name(key.path), key.path);
    }
  }
  known.insert(known.end(), sections.begin(), sections.end());
}

bool KeyIndex::has_section(const std::string& path) const {
  return std::ranges::find(sections, path) != sections.end();
}

bool KeyIndex::knows(const std::string& path) const {
  return keys.contains(path) || has_section(path);
}

const KeyIndex& key_index(const Recipe& recipe) {
  static PerRecipe<KeyIndex> indices([](const Recipe& one) { return KeyIndex(key_table(one)); });
  return indices.of(recipe);
}

SettingCollector::SettingCollector(const KeyIndex& index, Problems& problems)
    : index_(index), problems_(problems) {}

void SettingCollector::add_file(const std::string& name, std::string_view text) {
  const Source source{.layer = Layer::kFile, .place = name, .path = {}};
  const YamlResult result = read_yaml(text);
  for (const YamlProblem& problem : result.problems) {
    problems_.add(place_of(source, "", problem.at) + ": " + problem.message);
  }
  if (result.root.kind == YamlNode::Kind::kMap) {
    walk_map(source, "", result.root);
  } else if (result.root.kind != YamlNode::Kind::kNull) {
    problems_.add(fmt::format("{}: expected a map of sections ({}), {}",
                              place_of(source, "", result.root.at), children_of(""),
                              unlike(result.root)));
  }
}

void SettingCollector::add_environment(const std::string& name, const std::string& value) {
  const Source source{.layer = Layer::kEnvironment,
                      .place = fmt::format("environment: {}={}", shown(name), shown(value)),
                      .path = {}};
  if (const auto known = index_.environment_names.find(name);
      known != index_.environment_names.end()) {
    add_value({source.layer, source.place, known->second}, known->second, value);
    return;
  }
  const bool names_section =
      std::any_of(index_.sections.begin(), index_.sections.end(), [&](const std::string& section) {
        const std::string start = environment_name(section) + "_";
        return section.find('.') == std::string::npos && name.compare(0, start.size(), start) == 0;
      });
  if (!names_section) {
    return;  // other programs own names such as GANGWAY_BIN
  }
  if (other_ != nullptr && other_->environment_names.contains(name)) {
    left_out_.push_back({.path = other_->environment_names.at(name), .layer = source.layer});
    return;
  }
  std::vector<std::string> names;
  for (const auto& entry : index_.environment_names) {
    names.push_back(entry.first);
  }
  problems_.add(fmt::format("{}: unknown key{}", source.place,
                            suggestion_text(nearest_word(name, names), "; see docs/job-file.md")));
}

void SettingCollector::add_override(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (text.starts_with('~') && equals == std::string::npos) {
    const std::string path = text.substr(1);
    reset({Layer::kCommandLine, fmt::format("command line: {}", shown(text)), path}, path);
    return;
  }
  if (equals == std::string::npos || equals == 0) {
    problems_.add(fmt::format("command line: '{}': expected key=value, such as training.kimg=80",
                              shown(text)));
    return;
  }
  const std::string path = text.substr(0, equals);
  add_value({Layer::kCommandLine, fmt::format("command line: {}", shown(text)), path}, path,
            text.substr(equals + 1));
}

void SettingCollector::add_value(const Source& source, const std::string& path,
                                 const std::string& text) {
  const YamlResult result = read_yaml(text);
  for (const YamlProblem& problem : result.problems) {
    problems_.add(fmt::format("{}: {}", source.place, problem.message));
  }
  if (!result.problems.empty()) {
    return;
  }
  if (is_null_word(text)) {
    reset(source, path);
    return;
  }
  // A variant's key also chooses the variant, as in a file.
  for (std::size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', dot + 1)) {
    const auto key = index_.keys.find(path.substr(0, dot));
    if (key != index_.keys.end() && key->second->is_variant && index_.keys.contains(path)) {
      settings_.push_back({key->second, {}, {source.layer, source.place}});
    }
  }
  walk(source, path, {}, result.root);
}

void SettingCollector::reset(const Source& source, const std::string& path) {
  if (!index_.knows(path)) {
    report_unknown(source, path, {});
    return;
  }
  std::erase_if(settings_, [&](const Setting& setting) {
    return setting.key->path == path || setting.key->path.starts_with(path + ".");
  });
}

std::string SettingCollector::place_of(const Source& source, const std::string& path,
                                       YamlPosition at) {
  if (source.layer == Layer::kFile) {
    const std::string place =
        at.line > 0 ? fmt::format("{}:{}:{}", source.place, at.line, at.column) : source.place;
    return path.empty() ? place : fmt::format("{}: {}", place, shown(path));
  }
  return path == source.path ? source.place : fmt::format("{}: {}", source.place, shown(path));
}

std::string SettingCollector::children_of(const std::string& path) const {
  const std::string start = path.empty() ? "" : path + ".";
  std::vector<std::string> children;
  for (const std::string& known : index_.known) {
    if (known.compare(0, start.size(), start) != 0) {
      continue;
    }
    std::string child = known.substr(start.size(), known.find('.', start.size()) - start.size());
    if (std::find(children.begin(), children.end(), child) == children.end()) {
      children.push_back(std::move(child));
    }
  }
  return joined(children, ", ");
}

void SettingCollector::walk(const Source& source, const std::string& path, YamlPosition at,
                            const YamlNode& node) {
  const auto key = index_.keys.find(path == kFormerKey ? kPresentKey : std::string_view(path));
  const bool is_leaf = key != index_.keys.end() && !key->second->is_variant;
  if (is_leaf) {
    settings_.push_back({key->second, node, {source.layer, place_of(source, path, at)}});
    return;
  }
  const std::size_t dot = path.rfind('.');
  const auto whole = index_.keys.find(dot == std::string::npos ? path : path.substr(0, dot));
  if (key == index_.keys.end() && whole != index_.keys.end() && whole->second->has_members) {
    const YamlNode map{.kind = YamlNode::Kind::kMap,
                       .at = node.at,
                       .entries = {{.key = path.substr(dot + 1), .at = at, .value = node}}};
    settings_.push_back({whole->second, map, {source.layer, place_of(source, path, at)}});
    return;
  }
  if (!index_.has_section(path)) {
    if (path != kGoneKey || node.text != "1") {
      report_unknown(source, path, at);
    }
    return;
  }
  // A section with a plan key accepts `layout: auto`: the plan decides.
  const auto plan = index_.keys.find(path + ".plan");
  if (plan != index_.keys.end() && node.kind == YamlNode::Kind::kScalar && node.text == "auto") {
    settings_.push_back({plan->second, node, {source.layer, place_of(source, path, at)}});
    return;
  }
  if (node.kind != YamlNode::Kind::kNull && node.kind != YamlNode::Kind::kMap) {
    problems_.add(fmt::format("{}: expected a map of keys ({}), {}", place_of(source, path, at),
                              children_of(path), unlike(node)));
    return;
  }
  if (key != index_.keys.end()) {
    settings_.push_back({key->second, {}, {source.layer, place_of(source, path, at)}});
  }
  walk_map(source, path, node);
}

void SettingCollector::walk_map(const Source& source, const std::string& path,
                                const YamlNode& map) {
  std::string variant;
  for (const YamlEntry& entry : map.entries) {
    if (problems_.is_full()) {
      problems_.add("");  // the list then ends with "there are more"
      return;
    }
    const std::string child = path.empty() ? entry.key : path + "." + entry.key;
    const auto key = index_.keys.find(child);
    const bool is_variant = key != index_.keys.end() && key->second->is_variant;
    if (is_variant && !variant.empty()) {
      problems_.add(fmt::format("{}: '{}' is chosen already; keep one of them",
                                place_of(source, child, entry.at), variant));
      continue;
    }
    if (is_variant) {
      variant = entry.key;
    }
    walk(source, child, entry.at, entry.value);
  }
}

void SettingCollector::report_unknown(const Source& source, const std::string& path,
                                      YamlPosition at) {
  if (other_ != nullptr && other_->knows(path)) {
    left_out_.push_back({.path = path, .layer = source.layer});
    return;
  }
  auto meant = key_called_otherwise(path, index_.known);
  if (!meant) {
    meant = nearest_path(path, index_.known);
  }
  problems_.add(fmt::format("{}: unknown key{}", place_of(source, path, at),
                            suggestion_text(meant, "; see docs/job-file.md")));
}

}  // namespace gangway
