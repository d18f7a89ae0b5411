// SPDX-License-Identifier: MIT
// Finds the labels of an archive's images: in a list among them, in a file beside each, or as
// sub-folders. Called where a data set is opened.
#pragma once

#include <string>
#include <vector>

#include "data/archives/image_archive.hpp"

namespace gangway::data {

struct ImageLabels {
  int num_classes = 0;               ///< 0: no labels
  std::vector<int> of_images;        ///< indexed by entry; empty without labels
  std::vector<std::string> classes;  ///< names, if folders are labels
};

/// @param location  of the archive, for messages
/// @throws ConfigError: images both beside and inside folders, an invalid or incomplete list
[[nodiscard]] ImageLabels labels_of(const ImageArchive& archive, const std::string& location);

}  // namespace gangway::data
