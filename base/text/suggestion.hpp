// SPDX-License-Identifier: MIT
// "Did you mean": the known name nearest to one that is not known. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gangway {

/// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b` (optimal
/// string alignment).
[[nodiscard]] int edit_distance(std::string_view a, std::string_view b);

/// The word of `known` that `word` most likely stands for, if any is near.
[[nodiscard]] std::optional<std::string> nearest_word(std::string_view word,
                                                      const std::vector<std::string>& known);

/// As nearest_word for dotted paths: compares whole paths, then last parts (`kimg` finds
/// `training.kimg`).
[[nodiscard]] std::optional<std::string> nearest_path(std::string_view path,
                                                      const std::vector<std::string>& known);

}  // namespace gangway
