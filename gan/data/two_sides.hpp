// SPDX-License-Identifier: MIT
// Sources whose examples are two pictures: what open_dataset needs of gan/data/sides/, where they
// are made. No LibTorch.
#pragma once

#include <memory>

#include "gan/data/contents/file_contents.hpp"
#include "gan/data/dataset.hpp"
#include "job/spec.hpp"

namespace gangway::data {

/// Which part of a source.
enum class SourcePart {
  kTraining,
  kHeldOut,  ///< pictures that training does not see: test images, or those of a folder test or val
};

/// Opens `spec.source`: examples are [2 C, H, W], the first side's channels, then the second's,
/// each resized to what the model wants.
///
/// pairs: two pictures that belong together; unpaired: any of one side with any of the other;
/// edges:fashion-mnist: a garment's outlines, and the garment; classes:fashion-mnist:A,B: any
/// garment of label A with any of label B. For training the first `spec.limit` alone, of each side
/// where any go together; pairs the other way round where `spec.direction` says so.
/// @param check  as of open_dataset
/// @return null where the source has no held-out part, which never is so of the training part
/// @throws ConfigError: one line that names the file, what is wrong and what to do
/// @pre spec.has_two_sides()
[[nodiscard]] std::unique_ptr<Dataset> open_two_sides(const DataSpec& spec, const ModelSpec& model,
                                                      SourcePart part,
                                                      ContentsCheck* check = nullptr);

}  // namespace gangway::data
