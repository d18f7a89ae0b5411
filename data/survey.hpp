// SPDX-License-Identifier: MIT
// Surveys a set of images for `gangway data check`. Reads every image once, on several threads; the
// result does not depend on their number.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "data/archives/image_archive.hpp"
#include "data/image_labels.hpp"
#include "data/images/pixels.hpp"

namespace gangway::data {

struct Survey {
  std::int64_t images = 0;          ///< readable images
  std::vector<std::string> broken;  ///< a line each, naming the file and the problem
  std::map<std::pair<int, int>, std::int64_t> sizes;  ///< images by (width, height)
  std::int64_t gray = 0;                              ///< images of one channel; others have three
  /// Groups of names of images with equal pixels; groups and names are in order.
  std::vector<std::vector<std::string>> duplicates;
  std::vector<std::int64_t> by_label;  ///< images a label; empty without labels
  /// Of red, green, blue, in levels 0 to 255, over the squares cropped for the surveyed resolution.
  std::array<double, 3> mean{};
  std::array<double, 3> deviation{};
  std::vector<Pixels> samples;  ///< such squares, three channels, evenly spread
};

struct SurveyOptions {
  int resolution = 64;  ///< pixels a side of the squares
  int samples = 64;     ///< at most
  int threads = 1;
  std::int64_t most = 0;  ///< images to read, evenly spread; 0: all
};

[[nodiscard]] Survey survey_images(const ImageArchive& archive, const ImageLabels& labels,
                                   const SurveyOptions& options);

}  // namespace gangway::data
