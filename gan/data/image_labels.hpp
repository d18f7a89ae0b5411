// SPDX-License-Identifier: MIT
// Which label each image of an archive has: by a list that lies among them, by a file beside each,
// or by sub-folders. Called where a set is opened.
#pragma once

#include <string>
#include <vector>

#include "gan/data/archives/image_archive.hpp"

namespace gangway::data {

struct ImageLabels {
  int num_classes = 0;               ///< 0: no labels
  std::vector<int> of_images;        ///< by entry of the archive; empty without labels
  std::vector<std::string> classes;  ///< their names, where folders are labels
};

/// @param location  of the archive, for messages
/// @throws ConfigError: images both beside and inside folders, a list that lacks some, or is none
[[nodiscard]] ImageLabels labels_of(const ImageArchive& archive, const std::string& location);

}  // namespace gangway::data
