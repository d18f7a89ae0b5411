// SPDX-License-Identifier: MIT
// Parses values of data.source that are more than a place: stacked:, edges: and classes:. Called by
// the rules of a job file and where the source is opened. Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gangway {

inline constexpr std::string_view kToySource = "toy:";
/// Three garments per picture, which evaluation counts (docs/evaluation.md).
inline constexpr std::string_view kStackedSource = "stacked:fashion-mnist";
/// Pictures as `gangway data pack` wrote them.
inline constexpr std::string_view kPackSource = "pack:";
inline constexpr std::string_view kEdgesSource = "edges:";
inline constexpr std::string_view kClassesSource = "classes:";

/// Returns whether `source` is a known word, or a known prefix with text behind its colon.
[[nodiscard]] bool is_known_source(std::string_view source);

/// Returns the valid source nearest to a misspelt one, if any is near.
[[nodiscard]] std::optional<std::string> nearest_source(const std::string& source);

/// Parts of the text behind classes:, "fashion-mnist:5,7" or "idx:DIR:5,7".
struct TwoLabels {
  std::string_view location;  ///< view into the source
  int first = 0;
  int second = 0;
};

/// @pre misspelt_labels(source) is empty, and `source` begins with classes:
[[nodiscard]] TwoLabels two_labels(std::string_view source);

/// Says how the text behind edges: or classes: is wrong, and what to write instead. Empty if it is
/// right, and for other kinds of sources.
[[nodiscard]] std::string misspelt_labels(std::string_view source);

}  // namespace gangway
