// SPDX-License-Identifier: MIT
// Checks text from outside for UTF-8, and makes it safe to print in a message. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace gangway {

/// Returns the offset of the first byte that is not well-formed UTF-8 (Unicode 15, table 3-7).
[[nodiscard]] std::optional<std::size_t> find_invalid_utf8(std::string_view text);

/// Returns `text` for one line of a message. Control characters and bytes that are not UTF-8 become
/// '?'. Text of over 60 bytes is cut and ends in "...".
[[nodiscard]] std::string shown(std::string_view text);

/// Like shown(), for several lines of any length. Another user's run must not control the terminal
/// by what it prints.
[[nodiscard]] std::string plain(std::string_view text);

}  // namespace gangway
