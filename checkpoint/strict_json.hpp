// SPDX-License-Identifier: MIT
// JSON from files that may be damaged or hostile: a bounded depth, no doubled members, no NUL, one
// object, valid UTF-8. Internal to the store.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace gangway::checkpoint {

/// @param max_depth nested objects and arrays, the outermost included.
/// @param where starts the message: the path. @throws CheckpointError.
[[nodiscard]] nlohmann::json parse_strict_json(std::string_view text, int max_depth,
                                               const std::string& where);

/// `text` fit for a one-line message: control characters replaced, at most `max_bytes` kept.
[[nodiscard]] std::string printable(std::string_view text, std::size_t max_bytes = 120);

/// True when `text` has no control characters (below 0x20, or 0x7f).
[[nodiscard]] bool has_no_controls(std::string_view text);

}  // namespace gangway::checkpoint
