// SPDX-License-Identifier: MIT
// Times the layers of a job's networks one by one, as training computes them. Main thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "job/precision.hpp"
#include "job/spec.hpp"

namespace gangway::launch {

enum class LayerPart {
  kForward,
  kInputGradient,
  kWeightGradient,  ///< accumulated into an existing gradient
};

/// One part of one layer over one micro-batch.
struct LayerTime {
  std::string layer;  ///< "discriminator/1"
  std::string what;   ///< "convolution 64 > 128 of 8 x 8", "norm and activation"
  Precision precision = Precision::kFp32;
  LayerPart part = LayerPart::kForward;
  double seconds = 0.0;           ///< the fastest of many calls
  double operations = 0.0;        ///< of a linear map; otherwise 0
  std::int64_t tensor_bytes = 0;  ///< size of one of the moved tensors; 0 for a linear map
  double tensors_moved = 0.0;     ///< minimum number of tensors read or written
};

/// @param seconds  for each measurement
[[nodiscard]] std::vector<LayerTime> layer_times(const JobSpec& job, Precision precision,
                                                 double seconds);

}  // namespace gangway::launch
