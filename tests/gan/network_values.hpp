// SPDX-License-Identifier: MIT
// A network with values in every layer. Tests, main thread.
#pragma once

#include "gan/network.hpp"
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

}  // namespace gangway::testing
