// SPDX-License-Identifier: MIT
#include "plan/made_again.hpp"

#include <algorithm>
#include <variant>

namespace gangway::plan {
namespace {

/// Of the pass's first nodes, those that it takes from an earlier phase, or keeps for a later one.
int taken_up_nodes(const std::vector<pipeline::Phase>& phases, int phase, int pass) {
  const pipeline::Pass& self =
      phases[static_cast<std::size_t>(phase)].passes[static_cast<std::size_t>(pass)];
  int count = self.recall ? self.recall->nodes : 0;
  for (const pipeline::Phase& later : phases) {
    for (const pipeline::Pass& other : later.passes) {
      if (other.recall && other.recall->phase == phase && other.recall->pass == pass) {
        count = std::max(count, other.recall->nodes);
      }
    }
  }
  return count;
}

}  // namespace

bool is_made_again(const std::vector<pipeline::Phase>& phases, int phase, int pass, int node) {
  const pipeline::Pass& self =
      phases[static_cast<std::size_t>(phase)].passes[static_cast<std::size_t>(pass)];
  const auto at = static_cast<std::size_t>(node);
  return std::holds_alternative<pipeline::Application>(self.nodes[at]) && self.has_gradient[at] &&
         node >= taken_up_nodes(phases, phase, pass);
}

}  // namespace gangway::plan
