// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "job/keys/hashed_file_keys.hpp"
#include "job/keys/key_lists.hpp"
#include "job/library/family_library.hpp"

namespace gangway {
namespace {

constexpr std::string_view kLibraryKey = "model.library";
constexpr std::string_view kHashKey = "model.library_hash";
constexpr std::size_t kLongestName = 32;

/// Makes a key for a word of choices(), or the name of a row of the job's library.
template <typename Field, typename Row>
Key named_row_key(const KeyText& text, Field member, std::vector<Row> LibraryRows::*added) {
  const auto field = access_to(member);
  Key key = choice_key(text.path, member, text.description);
  key.set = [field, added, set_ours = key.set](const YamlNode& node, JobSpec& job) -> std::string {
    std::vector<std::string> names;
    for (const auto& choice : choices(field(job))) {
      names.emplace_back(choice.name);
    }
    for (const Row& row : rows_of(job.model.library).*added) {
      if (node.kind == YamlNode::Kind::kScalar && node.text == row.name) {
        field(job) = &row;
        return {};
      }
      names.emplace_back(row.name);
    }
    return set_ours(node, job).empty() ? std::string() : choice_complaint(node, names);
  };
  key.get = [field](const JobSpec& job) { return quoted_if_needed(std::string(field(job)->name)); };
  return key;
}

/// Returns whether a key of every job already has the name.
bool is_taken(const std::string& name) {
  const auto& networks = default_recipe()->networks;
  return std::ranges::find(networks, name, &RecipeNetwork::name) == networks.end() &&
         std::ranges::any_of(key_table(), [&name](const Key& key) {
           return key.path.starts_with(name + ".") || key.path == "model." + name ||
                  key.path == "layout." + name || key.path.starts_with("layout." + name + ".");
         });
}

std::string read_own_recipe(const YamlNode& node, const Recipe*& recipe) {
  std::vector<std::string> names;
  for (const YamlNode& item : node.items) {
    const std::string& name = item.text;
    const bool is_name =
        item.kind == YamlNode::Kind::kScalar && !name.empty() && name.size() <= kLongestName &&
        name.front() >= 'a' && name.front() <= 'z' &&
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
    if (!is_name) {
      return fmt::format(
          "a network's name has lower-case letters, digits and _, a letter first, {} at most; {}",
          kLongestName, unlike(item));
    }
    if (is_taken(name)) {
      return fmt::format("'{}' is a word of job files; give the network another name", name);
    }
    if (std::ranges::find(names, name) != names.end()) {
      return fmt::format("names the network {} twice", name);
    }
    names.push_back(name);
  }
  if (names.empty() || names.size() > kMostNetworks) {
    return fmt::format("has {} networks; a job has 1 to {}", names.size(), kMostNetworks);
  }
  recipe = own_recipe(names);
  return {};
}

}  // namespace

Key family_key(const KeyText& text) {
  Key key = named_row_key(text, &ModelSpec::family, &LibraryRows::families);
  key.set = [set_row = key.set](const YamlNode& node, JobSpec& job) -> std::string {
    if (node.kind == YamlNode::Kind::kScalar && node.text == kOwnFamilyBefore) {
      job.model.family = own_family();
      return {};
    }
    return set_row(node, job);
  };
  key.get_weighty = [get = key.get](const JobSpec& job) {
    return job.model.family == own_family() ? std::string(kOwnFamilyBefore) : get(job);
  };
  return key;
}

Key recipe_key(const KeyText& text) {
  Key key = named_row_key(text, &TrainingSpec::recipe, &LibraryRows::recipes);
  key.type = "choice, or list of names";
  key.set = [set_row = key.set](const YamlNode& node, JobSpec& job) {
    return node.kind == YamlNode::Kind::kSequence ? read_own_recipe(node, job.training.recipe)
                                                  : set_row(node, job);
  };
  key.get = [get_row = key.get](const JobSpec& job) {
    const Recipe& recipe = *job.training.recipe;
    return recipe.is_own ? std::string(recipe.name) : get_row(job);
  };
  return key;
}

void add_library_keys(std::vector<Key>& keys) {
  add_hashed_file_keys(
      keys,
      {std::string(kLibraryKey), "", "Families and recipes of your own, in C++ (docs/python.md)"},
      "a shared library built against Gangway's headers",
      [](auto& job) -> auto& { return job.model.library; });
}

bool is_about_library(const Key& key) { return key.path == kLibraryKey || key.path == kHashKey; }

}  // namespace gangway
