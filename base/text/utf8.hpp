// SPDX-License-Identifier: MIT
// Text that comes from outside: is it UTF-8, and how is it shown in a message. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace gangway {

/// Offset of the first byte that is not well-formed UTF-8 (Unicode 15, table 3-7), or nothing.
[[nodiscard]] std::optional<std::size_t> find_invalid_utf8(std::string_view text);

/// `text` fit for one line of a message: control characters and bytes that are not UTF-8 become
/// '?', and what is longer than 60 bytes ends in "...".
[[nodiscard]] std::string shown(std::string_view text);

/// The same of lines, whatever their length: what another user's run says must not steer the
/// terminal.
[[nodiscard]] std::string plain(std::string_view text);

}  // namespace gangway
