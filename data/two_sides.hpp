// SPDX-License-Identifier: MIT
// Opens sources whose examples are two pictures, for open_dataset; implemented in data/sides/.
// No LibTorch.
#pragma once

#include <memory>

#include "data/contents/file_contents.hpp"
#include "data/dataset.hpp"
#include "job/spec.hpp"

namespace gangway::data {

/// Part of a source.
enum class SourcePart {
  kTraining,
  kHeldOut,  ///< not used in training: test images, or a folder test or val
};

/// Opens `spec.source`. Examples are [2 C, H, W]: the first side's channels, then the second's,
/// each resized to the model's resolution.
///
/// pairs: two pictures that belong together; unpaired: any picture of a side with any of the other;
/// edges:fashion-mnist: a garment's outlines and the garment; classes:fashion-mnist:A,B: any
/// garment of label A with any of label B. Training uses the first `spec.limit` only, of each side
/// if unpaired; `spec.direction` may swap the sides of pairs.
/// @param check  as for open_dataset
/// @return null if the source has no held-out part; never null for training
/// @throws ConfigError: one line naming the file, the problem and the remedy
/// @pre spec.has_two_sides()
[[nodiscard]] std::unique_ptr<Dataset> open_two_sides(const DataSpec& spec, const ModelSpec& model,
                                                      SourcePart part,
                                                      ContentsCheck* check = nullptr);

}  // namespace gangway::data
