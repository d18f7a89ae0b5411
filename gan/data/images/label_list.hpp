// SPDX-License-Identifier: MIT
// The labels of a set of images as StyleGAN's dataset_tool.py leaves them beside it: dataset.json.
// Pure.
#pragma once

#include <map>
#include <optional>
#include <string>

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

}  // namespace gangway::data
