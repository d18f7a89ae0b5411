// SPDX-License-Identifier: MIT
// A network's values for job/primitives/primitives.hpp. Used by `gangway apply`. Compute thread.
#pragma once

#include <string>
#include <vector>

#include "base/errors.hpp"
#include "gan/layer_noise.hpp"
#include "gan/network.hpp"
#include "gan/random_tensors.hpp"
#include "job/primitives/primitive_graph.hpp"

namespace gangway::gan {

/// Returns copies of values on demand. The network, which is on the CPU, must outlive the result.
/// The result throws InvariantError for a tensor that the block does not have in that shape.
[[nodiscard]] inline TensorValues graph_values(Network& network) {
  return [&network](std::size_t block, const std::string& name, const Shape& shape) {
    at::Tensor values;
    if (name == kConstantNoise) {
      values = keyed_normal(constant_noise_key(static_cast<std::int32_t>(block)), shape, at::kCPU);
    }
    for (const Parameter& one : network.block(block).parameters()) {
      values = one.name == name ? one.tensor : values;
    }
    for (const Statistic& one : network.block(block).statistics()) {
      values = one.name == name ? one.running : values;
    }
    if (!values.defined() || values.sizes() != at::IntArrayRef(shape)) {
      throw InvariantError(network.name() + " has no tensor " + name + " of that shape");
    }
    values = values.contiguous();
    const auto* const first = values.const_data_ptr<float>();
    return std::vector<float>(first, first + values.numel());
  };
}

}  // namespace gangway::gan
