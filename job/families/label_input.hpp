// SPDX-License-Identifier: MIT
// Begins a generator's list of blocks with the label input, if the job has labels. Pure.
#pragma once

#include <vector>

#include "job/models/architecture.hpp"
#include "job/models/model_spec.hpp"

namespace gangway {

/// Appends the block that concatenates noise and label, if there are labels.
/// @return elements that the next block takes
[[nodiscard]] inline std::int64_t add_label_input(const ModelSpec& model,
                                                  std::vector<BlockSpec>& blocks) {
  if (model.classes == 0) {
    return model.inputs();
  }
  blocks.emplace_back(LabelConcatenationSpec{.classes = model.classes});
  return std::int64_t{model.inputs()} + model.classes;
}

}  // namespace gangway
