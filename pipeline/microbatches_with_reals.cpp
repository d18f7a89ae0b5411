// SPDX-License-Identifier: MIT
#include "pipeline/microbatches_with_reals.hpp"

#include <algorithm>

#include "base/errors.hpp"

namespace gangway::pipeline {

std::vector<int> microbatches_with_reals(const PassShares& shares,
                                         const std::vector<Instruction>& list) {
  std::vector<int> order;
  const bool takes_several = std::ranges::any_of(shares.phases(), [](const Phase& phase) {
    return phase.takes_reals && phase.first_reals + phase.repeats > 1;
  });
  for (const Instruction& one : list) {
    if (one.microbatch < 0 || one.operation == Operation::kOpenLeaf ||
        one.operation == Operation::kCloseLeaf) {
      continue;
    }
    const Phase& phase = shares.phases()[static_cast<std::size_t>(one.phase)];
    const Pass& pass = phase.passes[static_cast<std::size_t>(one.pass)];
    const PassShare& share = shares.of(one.phase, one.pass, one.microbatch);
    for (std::size_t i = 0; i < pass.nodes.size(); ++i) {
      const bool is_reached =
          static_cast<int>(i) < one.node || one.goes_back() || one.carries_gradient();
      if (!share.mine[i] || !is_reached || !std::holds_alternative<Reals>(pass.nodes[i])) {
        continue;
      }
      if (std::ranges::find(order, one.microbatch) != order.end()) {
        continue;
      }
      if (phase.takes_reals || !takes_several) {
        order.push_back(one.microbatch);
      } else {
        throw ConfigError("phase " + phase.name +
                          " looks at real examples on a worker that sees none in an earlier "
                          "phase: place the networks on the same workers (layout)");
      }
    }
  }
  return order;
}

}  // namespace gangway::pipeline
