// SPDX-License-Identifier: MIT
// Which real images a run is scored against. Used by `evaluate` and `train-features`.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "gan/evaluation/fd_lenet.hpp"
#include "job/spec.hpp"

namespace gangway::launch {

/// The 10,000 test images of Fashion-MNIST at the model's resolution. @throws ConfigError when they
/// are not installed.
[[nodiscard]] std::unique_ptr<data::Dataset> open_test_images(const ModelSpec& model);

/// Two disjoint sets of real images.
struct ReferenceData {
  std::unique_ptr<data::Dataset> train;
  std::unique_ptr<data::Dataset> test;  ///< null where the source has no test images
  gan::ImageSource reference;           ///< what generated images are compared with
  std::int64_t count = 0;               ///< images of it
  gan::ImageSource held_back;           ///< for the floor
  std::int64_t held_back_count = 0;     ///< images of that; 0 where too few are left
  std::string description;              ///< "10000 test images"
};

/// Fashion-MNIST: its test images, and as many of its training images. Other sources: two halves of
/// up to 10,000 images of the one set that there is. Of the whole source, whatever data.limit is.
/// @param training_images  compare with so many training images instead (all where there are
/// fewer), as published FIDs do; held back are the test images, or what is left
/// @throws ConfigError when the data cannot be read or has fewer than 200 images.
[[nodiscard]] ReferenceData open_reference_data(
    const JobSpec& job, std::optional<std::int64_t> training_images = std::nullopt);

}  // namespace gangway::launch
