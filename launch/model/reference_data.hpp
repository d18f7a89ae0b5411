// SPDX-License-Identifier: MIT
// Chooses the real images to score a run against. Called by `evaluate` and `train-features`.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "gan/evaluation/fd_lenet.hpp"
#include "job/spec.hpp"

namespace gangway::launch {

/// Opens the 10,000 test images of Fashion-MNIST at the model's resolution. @throws ConfigError if
/// they are not installed
[[nodiscard]] std::unique_ptr<data::Dataset> open_test_images(const ModelSpec& model);

/// Two disjoint sets of real images.
struct ReferenceData {
  std::unique_ptr<data::Dataset> train;
  std::unique_ptr<data::Dataset> test;  ///< null if the source has no test images
  gan::ImageSource reference;           ///< images to compare generated images with
  std::int64_t count = 0;               ///< size of `reference`
  gan::ImageSource held_back;           ///< images for the floor
  std::int64_t held_back_count = 0;     ///< size of `held_back`; 0 if too few images are left
  std::string description;              ///< "10000 test images"
};

/// Fashion-MNIST: all test images, and as many training images. Other sources: two halves of up to
/// 10,000 images of the whole source; ignores data.limit.
/// @param training_images  reference size in training images (at most all), as for published FIDs;
/// the test images, or the remaining images, are then held back
/// @throws ConfigError if the data cannot be read or has fewer than 200 images
[[nodiscard]] ReferenceData open_reference_data(
    const JobSpec& job, std::optional<std::int64_t> training_images = std::nullopt);

}  // namespace gangway::launch
