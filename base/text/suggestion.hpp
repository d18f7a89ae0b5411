// SPDX-License-Identifier: MIT
// Finds the known name nearest to an unknown name, for "did you mean ...?". Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gangway {

/// Returns the word of `known` nearest to `word`; nothing if none is near.
[[nodiscard]] std::optional<std::string> nearest_word(std::string_view word,
                                                      const std::vector<std::string>& known);

/// Like nearest_word, for dotted paths: compares whole paths, then last parts (`kimg` finds
/// `training.kimg`).
[[nodiscard]] std::optional<std::string> nearest_path(std::string_view path,
                                                      const std::vector<std::string>& known);

}  // namespace gangway
