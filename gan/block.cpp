// SPDX-License-Identifier: MIT
#include "gan/block.hpp"

#include <algorithm>
#include <utility>

namespace gangway::gan {
namespace {

template <typename Named>
Named* find_named(std::deque<Named>& all, std::string_view name) {
  const auto found = std::ranges::find(all, name, &Named::name);
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

bool is_map(const Parameter& parameter) {
  const bool is_weight = (parameter.name == "weight" || parameter.name.ends_with(".weight")) &&
                         !parameter.name.ends_with("embedding.weight");
  return is_weight && parameter.tensor.dim() >= 2;
}

Block::Block(BlockPorts ports, const std::vector<ParameterSpec>& parameters,
             const std::vector<StatisticSpec>& statistics)
    : ports_(std::move(ports)) {
  for (const ParameterSpec& spec : parameters) {
    at::Tensor tensor = at::zeros(spec.shape, at::kFloat);
    tensor.set_requires_grad(true);
    parameters_.push_back({spec.name, std::move(tensor), spec.initial, spec.initial_scale});
  }
  for (const StatisticSpec& spec : statistics) {
    statistics_.push_back({spec.name, at::full({spec.features}, spec.initial, at::kFloat),
                           spec.initial, spec.momentum});
  }
}

Parameter* Block::parameter(std::string_view name) { return find_named(parameters_, name); }

Statistic* Block::statistic(std::string_view name) { return find_named(statistics_, name); }

}  // namespace gangway::gan
