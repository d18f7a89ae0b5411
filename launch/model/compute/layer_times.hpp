// SPDX-License-Identifier: MIT
// Times the layers of a job's networks one by one, and its whole step, as one worker computes them.
// Main thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "job/precision.hpp"
#include "job/spec.hpp"
#include "launch/model/compute/operator_watch.hpp"

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
  LayerPart part = LayerPart::kForward;
  double seconds = 0.0;           ///< the fastest of many calls
  double operations = 0.0;        ///< of products; 0: rated by bytes
  std::int64_t tensor_bytes = 0;  ///< size of one of the moved tensors; 0: rated by operations
  double bytes = 0.0;             ///< of all tensors read and written
  double limit = 0.0;  ///< a second, by the plain product or copy that ran in turns with it
};

/// One step of all phases, lazy ones too.
struct StepTime {
  int images = 0;
  double seconds = 0.0;  ///< the fastest of several
  OperatorSums sums;     ///< of that step
  double limit = 0.0;    ///< operations a second of the plain product between the steps
};

struct ComputeTimes {
  Precision precision = Precision::kFp32;
  std::vector<LayerTime> layers;
  StepTime step;
};

/// @param seconds  for each measurement
[[nodiscard]] ComputeTimes compute_times(JobSpec job, Precision precision, double seconds);

}  // namespace gangway::launch
