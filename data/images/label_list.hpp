// SPDX-License-Identifier: MIT
// Parses labels of images: dataset.json, as StyleGAN's dataset_tool.py writes it, and WebDataset's
// file beside each image. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace gangway::data {

inline constexpr const char* kLabelListName = "dataset.json";

/// Labels by path of the image, relative to the list's folder.
using LabelList = std::map<std::string, int, std::less<>>;

/// Reads {"labels": [["00000/img00000000.png", 6], …]}. Returns nothing if "labels" is null:
/// folders are then no labels either.
/// @param name  of the file, for messages
/// @throws ConfigError naming the error in any other text
[[nodiscard]] std::optional<LabelList> parse_label_list(const std::string& text,
                                                        const std::string& name);

/// Parses a .cls file: a decimal number, optionally between blanks.
/// @param name  of the file, for messages
/// @throws ConfigError for any other text
[[nodiscard]] int parse_label(std::string_view text, const std::string& name);

/// Returns "label" of a JSON object, or nothing if it has none.
/// @throws ConfigError if it is no JSON, or the label is no whole number
[[nodiscard]] std::optional<int> described_label(std::string_view text, const std::string& name);

}  // namespace gangway::data
