// SPDX-License-Identifier: MIT
// Inspects the lists of blocks of a family's networks. Any thread.
#pragma once

#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "job/families/families.hpp"
#include "tests/adversarial_networks.hpp"

namespace gangway::testing {

/// Numbers of trained elements of generator and discriminator.
using Sizes = std::pair<std::int64_t, std::int64_t>;

/// Returns the networks of the default recipe.
[[nodiscard]] inline PerNetwork<Architecture> architectures_of(const ModelSpec& model) {
  PerNetwork<Architecture> networks;
  for (const RecipeNetwork& network : default_recipe()->networks) {
    networks.add(architecture_of(model, network.role));
  }
  return networks;
}

[[nodiscard]] inline Sizes sizes_of(const ModelSpec& model) {
  const PerNetwork<Architecture> networks = architectures_of(model);
  return {num_parameters(networks[kGenerator]), num_parameters(networks[kDiscriminator])};
}

template <typename Spec>
[[nodiscard]] std::vector<Spec> blocks_of(const Architecture& network) {
  std::vector<Spec> found;
  for (const BlockSpec& block : network.blocks) {
    if (const auto* spec = std::get_if<Spec>(&block)) {
      found.push_back(*spec);
    }
  }
  return found;
}

[[nodiscard]] inline std::vector<BlockPorts> ports_in(const Architecture& network) {
  std::vector<BlockPorts> ports;
  for (const BlockSpec& block : network.blocks) {
    ports.push_back(std::visit([](const auto& spec) { return ports_of(spec); }, block));
  }
  return ports;
}

}  // namespace gangway::testing
