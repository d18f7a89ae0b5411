// SPDX-License-Identifier: MIT
#include "job/models/architecture.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>

namespace gangway {

std::vector<std::size_t> blocks_between(std::size_t begin, std::size_t end) {
  std::vector<std::size_t> blocks(end - begin);
  std::iota(blocks.begin(), blocks.end(), begin);
  return blocks;
}

std::int64_t num_parameters(const Architecture& network) {
  std::int64_t count = 0;
  if (const PythonSpec* python = python_in(network)) {
    count = python->num_parameters.value_or(0);
  }
  for (const BlockSpec& block : network.blocks) {
    for (const ParameterSpec& parameter :
         std::visit([](const auto& spec) { return parameters_of(spec); }, block)) {
      count += std::accumulate(parameter.shape.begin(), parameter.shape.end(), std::int64_t{1},
                               std::multiplies<>());
    }
  }
  return count;
}

std::vector<std::string> statistic_names(const Architecture& network) {
  std::vector<std::string> names;
  for (std::size_t block = 0; block < network.blocks.size(); ++block) {
    for (const StatisticSpec& statistic :
         std::visit([](const auto& spec) { return statistics_of(spec); }, network.blocks[block])) {
      names.push_back(std::to_string(block) + "/" + statistic.name);
    }
  }
  return names;
}

const PythonSpec* python_in(const Architecture& network) {
  return network.blocks.empty() ? nullptr : std::get_if<PythonSpec>(&network.blocks.front());
}

bool normalizes_dense_layers(const Architecture& network) {
  return std::any_of(network.blocks.begin(), network.blocks.end(), [](const BlockSpec& block) {
    const auto* layer = std::get_if<LayerSpec>(&block);
    return layer != nullptr && layer->kind == LayerKind::kLinear && layer->batch_norm;
  });
}

}  // namespace gangway
