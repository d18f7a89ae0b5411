// SPDX-License-Identifier: MIT
// Words of data.source that are more than a place: stacked, and what edges: and classes: name.
// Asked by the rules of a job file and where such a source is opened. Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gangway {

inline constexpr std::string_view kToySource = "toy:";
/// Three garments a picture, which are counted (docs/evaluation.md).
inline constexpr std::string_view kStackedSource = "stacked:fashion-mnist";
/// Pictures as `gangway data pack` wrote them.
inline constexpr std::string_view kPackSource = "pack:";
inline constexpr std::string_view kEdgesSource = "edges:";
inline constexpr std::string_view kClassesSource = "classes:";

/// Whether it is one of the words, or a form with something behind its colon.
[[nodiscard]] bool is_known_source(std::string_view source);

/// The source that a misspelt one most likely stands for, if any is near.
[[nodiscard]] std::optional<std::string> nearest_source(const std::string& source);

/// "fashion-mnist:5,7" or "idx:DIR:5,7" behind classes:, taken apart.
struct TwoLabels {
  std::string_view location;  ///< a part of the source
  int first = 0;
  int second = 0;
};

/// @pre misspelt_labels(source) is empty, and `source` begins with classes:
[[nodiscard]] TwoLabels two_labels(std::string_view source);

/// What is wrong with the words behind edges: or classes:, and what to write instead; empty where
/// nothing is, and for sources of other kinds.
[[nodiscard]] std::string misspelt_labels(std::string_view source);

}  // namespace gangway
