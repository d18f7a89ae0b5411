// SPDX-License-Identifier: MIT
// The labels of a set of images as StyleGAN's dataset_tool.py leaves them beside it: dataset.json;
// and as WebDataset has them beside each. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace gangway::data {

inline constexpr const char* kLabelListName = "dataset.json";

/// Labels by the path of the image, seen from the file's folder.
using LabelList = std::map<std::string, int, std::less<>>;

/// Reads {"labels": [["00000/img00000000.png", 6], …]}; nothing where "labels" is null: then the
/// folders are no labels either.
/// @param name  of the file, for messages
/// @throws ConfigError for any other text, naming what is wrong with it
[[nodiscard]] std::optional<LabelList> parse_label_list(const std::string& text,
                                                        const std::string& name);

/// A decimal number, blanks around it: a file .cls.
/// @param name  of the file, for messages
/// @throws ConfigError for any other text
[[nodiscard]] int parse_label(std::string_view text, const std::string& name);

/// "label" of a JSON object; nothing where it has none.
/// @throws ConfigError: no JSON, or a label that is no whole number
[[nodiscard]] std::optional<int> described_label(std::string_view text, const std::string& name);

}  // namespace gangway::data
