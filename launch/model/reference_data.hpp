// SPDX-License-Identifier: MIT
// Which real images a run is scored against. Used by `evaluate` and `train-features`.
#pragma once

#include <cstdint>
#include <memory>
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
  gan::ImageSource held_back;           ///< for the floor
  std::int64_t count = 0;               ///< images of each
  std::string description;              ///< "10000 test images"
};

/// Fashion-MNIST: its test images, and as many of its training images. Other sources: two halves of
/// up to 10,000 images of the one set that there is.
/// @throws ConfigError when the data cannot be read or has fewer than 200 images.
[[nodiscard]] ReferenceData open_reference_data(const JobSpec& job);

}  // namespace gangway::launch
