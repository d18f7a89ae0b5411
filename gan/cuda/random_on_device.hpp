// SPDX-License-Identifier: MIT
// Sets the source of seed and step for draws on a CUDA device. Compute thread.
#pragma once

#include "gan/cuda/step_place.hpp"

namespace gangway::gan {

/// While it lives, this thread's device draws for training passes (phase >= 0) read seed and step
/// from `place`, so that they can be captured. `place` is device memory that outlives the draws.
/// Objects must not be nested.
class DrawFromPlace {
 public:
  explicit DrawFromPlace(const cuda::StepPlace* place);
  ~DrawFromPlace();
  DrawFromPlace(const DrawFromPlace&) = delete;
  DrawFromPlace& operator=(const DrawFromPlace&) = delete;
};

}  // namespace gangway::gan
