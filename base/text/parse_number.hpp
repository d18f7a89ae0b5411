// SPDX-License-Identifier: MIT
// Reads a text that is one number. Pure; any thread.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace gangway {

/// Returns the number if all of `text` is one that `Number` holds, as std::from_chars reads it.
/// @param format  the base of an integer, or the std::chars_format of a real number
template <typename Number, typename... Format>
[[nodiscard]] std::optional<Number> parse_number(std::string_view text, Format... format) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, format...);
  return error == std::errc{} && stop == end ? std::optional(number) : std::nullopt;
}

}  // namespace gangway
