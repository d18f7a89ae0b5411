// SPDX-License-Identifier: MIT
// A network with values in every layer, and its values for primitives_of(). Tests, main thread.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "gan/layer_noise.hpp"
#include "gan/network.hpp"
#include "gan/random_tensors.hpp"
#include "job/primitives/primitive_graph.hpp"
#include "job/spec.hpp"

namespace gangway::testing {

/// Sets weights and statistics that change every layer's values.
/// @param images  shown so far, which growing networks depend on
inline void fill(gan::Network& network, const JobSpec& job, std::int64_t images) {
  const at::NoGradGuard no_grad;
  network.initialise(3);
  network.grow_to(job.growth_level(images));
  for (const auto& named : network.parameters()) {
    at::Tensor& tensor = named.parameter->tensor;
    if (named.parameter->initial == Initial::kZero) {
      tensor.copy_(at::arange(tensor.numel(), at::kFloat).sin().mul(0.1).reshape(tensor.sizes()));
    }
  }
  double salt = 0.0;
  for (const auto& named : network.statistics()) {
    at::Tensor& running = named.statistic->running;
    const at::Tensor waves = at::arange(running.numel(), at::kFloat).add(++salt).sin();
    // Large means would leave nothing behind a ReLU.
    running.copy_(named.name.ends_with("running_mean") ? waves * 0.01 : waves.abs() + 0.3);
  }
}

inline TensorValues values_of(gan::Network& network) {
  return [&network](std::size_t block, const std::string& name, const Shape& shape) {
    at::Tensor values;
    if (name == kConstantNoise) {
      values =
          gan::keyed_normal(constant_noise_key(static_cast<std::int32_t>(block)), shape, at::kCPU);
    }
    const std::string wanted = fmt::format("{}/{}/{}", network.name(), block, name);
    for (const auto& named : network.parameters()) {
      values = named.name == wanted ? named.parameter->tensor : values;
    }
    for (const auto& named : network.statistics()) {
      values = named.name == wanted ? named.statistic->running : values;
    }
    if (Shape(values.sizes().vec()) != shape) {
      throw std::logic_error(wanted + " has another shape");
    }
    values = values.contiguous();
    return std::vector<float>(values.const_data_ptr<float>(),
                              values.const_data_ptr<float>() + values.numel());
  };
}

}  // namespace gangway::testing
