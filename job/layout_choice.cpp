// SPDX-License-Identifier: MIT
#include "job/layout_choice.hpp"

#include <algorithm>

namespace gangway {

bool LayoutChoice::wants_cut(NetworkId network) const {
  const auto& cuts = networks[network].cuts;
  return cuts ? !cuts->empty() : stages > 1;
}

bool LayoutChoice::cuts_networks() const {
  return std::ranges::any_of(networks.ids(),
                             [this](NetworkId network) { return wants_cut(network); });
}

bool LayoutChoice::places_networks() const {
  return cuts_networks() || std::ranges::any_of(networks, [](const NetworkPlacement& network) {
           return !network.workers.empty();
         });
}

LayoutChoice LayoutChoice::of(const Recipe& recipe) {
  LayoutChoice choice;
  for (std::size_t i = 0; i < recipe.networks.size(); ++i) {
    choice.networks.add({});
  }
  return choice;
}

}  // namespace gangway
