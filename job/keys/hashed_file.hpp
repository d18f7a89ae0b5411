// SPDX-License-Identifier: MIT
// Two keys for a file of the user's: its place, and its hash, which is what belongs to the job.
// Pure.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "job/keys/key_types.hpp"

namespace gangway {

inline constexpr std::size_t kHashDigits = 32;  ///< XXH3-128

/// The file's content decides about weights, its place does not. @param field  a HashedFile
template <typename Field>
void add_hashed_file(std::vector<Key>& keys, KeyText text, std::string allowed, Field field) {
  const std::string path = text.path;
  Key file = file_or_none_key(
      std::move(text), [field](auto& job) -> auto& { return field(job).file; }, std::move(allowed));
  file.changes_weights = false;
  keys.push_back(std::move(file));
  Key hash = file_or_none_key(
      {path + "_hash", "", "XXH3-128 of that file; where it is not given, the file is as it is"},
      [field](auto& job) -> auto& { return field(job).hash; }, "none, or 32 hexadecimal digits");
  hash.set = [field, set_text = hash.set](const YamlNode& node, JobSpec& job) -> std::string {
    const std::string complaint = set_text(node, job);
    const std::string& given = field(job).hash;
    const bool is_hash =
        given.empty() || (given.size() == kHashDigits &&
                          given.find_first_not_of("0123456789abcdef") == std::string::npos);
    return complaint.empty() && !is_hash ? "expected none, or 32 hexadecimal digits" : complaint;
  };
  hash.why_refused = [field, path](const JobSpec& job) -> std::string {
    return field(job).file.empty() ? fmt::format("has a meaning beside {} alone", path) : "";
  };
  keys.push_back(std::move(hash));
}

}  // namespace gangway
