// SPDX-License-Identifier: MIT
// Where draws on a CUDA device take the seed and the step of a training step from. Compute thread.
#pragma once

#include "gan/cuda/step_place.hpp"

namespace gangway::gan {

/// While it lives, what this thread draws on a device for a pass of training (phase >= 0) takes its
/// seed and step from `place`, device memory that outlives the draws: so that they can be captured.
/// None is made within another.
class DrawFromPlace {
 public:
  explicit DrawFromPlace(const cuda::StepPlace* place);
  ~DrawFromPlace();
  DrawFromPlace(const DrawFromPlace&) = delete;
  DrawFromPlace& operator=(const DrawFromPlace&) = delete;
};

}  // namespace gangway::gan
