// SPDX-License-Identifier: MIT
#include "pipeline/costs/costs.hpp"

#include <cstddef>

namespace gangway::pipeline {

WorkCosts joined(std::span<const WorkCosts> blocks) {
  WorkCosts sum;
  for (const WorkCosts& block : blocks) {
    sum.forward_seconds += block.forward_seconds;
    sum.input_gradient_seconds += block.input_gradient_seconds;
    sum.weight_gradient_seconds += block.weight_gradient_seconds;
    for (std::size_t sweep = 0; sweep < sum.sweep_seconds.size(); ++sweep) {
      sum.sweep_seconds[sweep] += block.sweep_seconds[sweep];
    }
    sum.update_seconds += block.update_seconds;
    sum.output_bytes = block.output_bytes;
    sum.stored_bytes += block.stored_bytes;
    sum.gradient_bytes += block.gradient_bytes;
  }
  return sum;
}

}  // namespace gangway::pipeline
