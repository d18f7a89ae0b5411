// SPDX-License-Identifier: MIT
// Reads members of JSON that may be damaged or of another version. A member that is missing or of
// another type gives an empty text or 0. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

namespace gangway {

[[nodiscard]] std::string text_in(const auto& json, const char* name) {
  const bool is_there = json.contains(name) && json[name].is_string();
  return is_there ? json[name].template get<std::string>() : std::string();
}

template <typename Whole = std::int64_t>
[[nodiscard]] Whole whole_in(const auto& json, const char* name) {
  const bool is_there = json.contains(name) && json[name].is_number_integer();
  return is_there ? json[name].template get<Whole>() : Whole{0};
}

[[nodiscard]] double number_in(const auto& json, const char* name) {
  return json.contains(name) && json[name].is_number() ? json[name].template get<double>() : 0.0;
}

}  // namespace gangway
