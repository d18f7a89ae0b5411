// SPDX-License-Identifier: MIT
#include "gan/block.hpp"

namespace gangway::gan {

Parameter& Block::add_parameter(std::string name, std::vector<std::int64_t> shape, Initial initial,
                                double scale) {
  at::Tensor tensor = at::zeros(shape, at::kFloat);
  tensor.set_requires_grad(true);
  return parameters_.emplace_back(Parameter{std::move(name), std::move(tensor), initial, scale});
}

Statistic& Block::add_statistic(std::string name, std::int64_t features, double initial) {
  return statistics_.emplace_back(Statistic{std::move(name),
                                            at::full({features}, initial, at::kFloat),
                                            at::zeros({features}, at::kFloat), initial});
}

}  // namespace gangway::gan
