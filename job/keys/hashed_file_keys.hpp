// SPDX-License-Identifier: MIT
// Keys for a user's file whose content affects weights: its path, and a hash of its content. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "job/schema/key_types.hpp"

namespace gangway {

/// Appends `text.path` and `text.path`_hash. `of(job)` has the members `file` and `hash`, empty if
/// there is no file. `kind` describes the allowed values: "FILE.py:CLASS, or a map".
template <typename Of>
void add_hashed_file_keys(std::vector<Key>& keys, KeyText text, const std::string& kind, Of of) {
  constexpr std::size_t kHashDigits = 32;  // XXH3-128
  const std::string path = text.path;
  Key file = file_or_none_key(
      std::move(text), [of](auto& job) -> auto& { return of(job).file; },
      fmt::format("none, or {}", kind));
  file.changes_weights = false;  // its content does, its place does not
  keys.push_back(std::move(file));
  Key hash = file_or_none_key(
      {fmt::format("{}_hash", path), "",
       "XXH3-128 that the file must have; none: the hash of the file as it is"},
      [of](auto& job) -> auto& { return of(job).hash; }, "none, or 32 hexadecimal digits");
  hash.set = [of, set_text = hash.set](const YamlNode& node, JobSpec& job) -> std::string {
    const std::string complaint = set_text(node, job);
    const std::string& given = of(job).hash;
    const bool is_hash =
        given.empty() || (given.size() == kHashDigits &&
                          given.find_first_not_of("0123456789abcdef") == std::string::npos);
    return complaint.empty() && !is_hash ? "expected none, or 32 hexadecimal digits" : complaint;
  };
  hash.why_refused = [of, path](const JobSpec& job) -> std::string {
    return of(job).file.empty() ? fmt::format("has a meaning beside {} alone", path) : "";
  };
  keys.push_back(std::move(hash));
}

}  // namespace gangway
