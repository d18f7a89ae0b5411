// SPDX-License-Identifier: MIT
#include "coordinator/job_changes.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "job/yaml_tree.hpp"

namespace gangway::coordinator {
namespace {

constexpr std::size_t kMostNamed = 5;
/// These change no weight (job/fingerprint.hpp).
constexpr std::array kOfNoWeight{"layout.", "checkpoint.", "output.", "data.prefetch",
                                 "training.kimg"};

using Values = std::vector<std::pair<std::string, std::string>>;  // key, value, in order

std::string text_of(const YamlNode& node) {
  if (node.kind != YamlNode::Kind::kSequence) {
    return node.kind == YamlNode::Kind::kNull ? "nothing" : node.text;
  }
  std::string text;
  for (const YamlNode& item : node.items) {
    text += (text.empty() ? "[" : ", ") + text_of(item);
  }
  return text + "]";
}

void collect(const YamlNode& node, const std::string& key, Values& values) {
  if (node.kind != YamlNode::Kind::kMap) {
    values.emplace_back(key, text_of(node));
    return;
  }
  for (const YamlEntry& entry : node.entries) {
    collect(entry.value, key.empty() ? entry.key : key + "." + entry.key, values);
  }
}

Values values_of(std::string_view yaml) {
  Values values;
  collect(read_yaml(yaml).root, "", values);
  std::erase_if(values, [](const auto& value) {
    return std::ranges::any_of(kOfNoWeight,
                               [&](const char* key) { return value.first.starts_with(key); });
  });
  return values;
}

/// Null: there is no such key.
const std::string* find(const Values& values, const std::string& key) {
  const auto found = std::ranges::find(values, key, &Values::value_type::first);
  return found == values.end() ? nullptr : &found->second;
}

}  // namespace

std::string job_changes(std::string_view before, std::string_view now) {
  const Values old_values = values_of(before);
  const Values new_values = values_of(now);
  std::vector<std::string> changes;
  for (const auto& [key, value] : new_values) {
    const std::string* old = find(old_values, key);
    if (old == nullptr || *old != value) {
      changes.push_back(fmt::format("{} {}, was {}", key, value, old ? *old : "not there"));
    }
  }
  for (const auto& [key, value] : old_values) {
    if (find(new_values, key) == nullptr) {
      changes.push_back(fmt::format("{} is gone, was {}", key, value));
    }
  }
  const std::size_t num_named = std::min(changes.size(), kMostNamed);
  std::string text =
      fmt::format("{}", fmt::join(std::span(changes).first(num_named), "; "));
  if (num_named < changes.size()) {
    text += fmt::format("; and {} more", changes.size() - num_named);
  }
  return text;
}

}  // namespace gangway::coordinator
