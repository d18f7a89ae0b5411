// SPDX-License-Identifier: MIT
#include "job/keys/library_keys.hpp"

#include <string>
#include <string_view>
#include <utility>

#include "job/keys/hashed_file_keys.hpp"
#include "job/library/family_library.hpp"

namespace gangway {
namespace {

constexpr std::string_view kLibraryKey = "model.library";
constexpr std::string_view kHashKey = "model.library_hash";

/// One of the words of choices(), or the name of a row that the job's library adds.
template <typename Field, typename Row>
Key named_row_key(KeyText text, Field field, std::vector<Row> LibraryRows::*added) {
  Key key = choice_key(std::move(text), field);
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

}  // namespace

Key family_key(KeyText text) {
  return named_row_key(
      std::move(text), [](auto& job) -> auto& { return job.model.family; }, &LibraryRows::families);
}

Key recipe_key(KeyText text) {
  return named_row_key(
      std::move(text), [](auto& job) -> auto& { return job.training.recipe; },
      &LibraryRows::recipes);
}

void add_library_keys(std::vector<Key>& keys) {
  add_hashed_file_keys(
      keys,
      {std::string(kLibraryKey), "",
       "Families and recipes of your own, in C++ (docs/bring-your-own.md)"},
      "a shared library built against Gangway's headers",
      [](auto& job) -> auto& { return job.model.library; });
}

bool is_about_library(const Key& key) { return key.path == kLibraryKey || key.path == kHashKey; }

}  // namespace gangway
