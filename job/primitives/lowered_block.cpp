// SPDX-License-Identifier: MIT
#include "job/primitives/lowered_block.hpp"

#include <algorithm>

#include "base/errors.hpp"

namespace gangway::primitives {

Tensor LoweredBlock::constant(const std::string& name, const Shape& shape) const {
  return builder_.constant(shape, values_ ? values_(index_, name, shape) : std::vector<float>{},
                           std::to_string(index_) + "." + name);
}

std::optional<Tensor> LoweredBlock::find_tensor(const std::string& name) const {
  const auto parameter = std::ranges::find(tensors_.parameters, name, &ParameterSpec::name);
  if (parameter != tensors_.parameters.end()) {
    return constant(name, parameter->shape);
  }
  const auto statistic = std::ranges::find(tensors_.statistics, name, &StatisticSpec::name);
  return statistic != tensors_.statistics.end()
             ? std::optional(constant(name, {statistic->features}))
             : std::nullopt;
}

Tensor LoweredBlock::tensor(const std::string& name) const {
  if (const auto found = find_tensor(name)) {
    return *found;
  }
  throw InvariantError("block " + std::to_string(index_) + " has no tensor " + name);
}

Tensor LoweredBlock::constant_noise(std::int64_t side) const {
  const std::optional<Tensor> stored = find_tensor(kStoredNoise);
  return stored ? constant_as(*stored, {1, 1, side, side})
                : constant(kConstantNoise, {1, 1, side, side});
}

}  // namespace gangway::primitives
