// SPDX-License-Identifier: MIT
#include "launch/plan/staged_costs.hpp"

#include <algorithm>
#include <variant>

#include "launch/plan/profiles/profile_text.hpp"

namespace gangway::launch {
namespace {

using pipeline::Operation;
using pipeline::WorkCosts;

/// Measured over what its blocks add up to.
struct Ratio {
  double measured = 0.0;
  double blocks = 0.0;
  [[nodiscard]] double value() const { return blocks > 0.0 ? measured / blocks : 1.0; }
};

struct NetworkRatios {
  Ratio forward;
  Ratio backward;
  double penalty_forward = 0.0;  ///< seconds of the dearest
  double penalty_backward = 0.0;
};

NetworkRatios ratios_of(NetworkId id, const Profile& profile,
                        const std::vector<pipeline::Phase>& phases,
                        const PerNetwork<std::string>& names) {
  NetworkRatios ratios;
  for (const pipeline::Phase& phase : phases) {
    for (std::size_t i = 0; i < phase.passes.size(); ++i) {
      const pipeline::Pass& pass = phase.passes[i];
      for (std::size_t node = 0; node < pass.nodes.size(); ++node) {
        pipeline::Instruction at{.operation = Operation::kForward,
                                 .network = id,
                                 .phase = phase.index,
                                 .pass = static_cast<int>(i),
                                 .node = static_cast<int>(node)};
        const auto seconds = [&](Operation operation) {
          at.operation = operation;
          return profile.cost_of(at, names).seconds;
        };
        const auto* application = std::get_if<pipeline::Application>(&pass.nodes[node]);
        const auto* penalty = std::get_if<pipeline::Penalty>(&pass.nodes[node]);
        if (application != nullptr && application->network == id) {
          const SumOfBlocks sum =
              sum_of_blocks(profile, names[id], phase, pass, static_cast<int>(node));
          ratios.forward.measured += seconds(Operation::kForward);
          ratios.forward.blocks += sum.forward_seconds;
          if (pass.has_gradient[node]) {
            ratios.backward.measured += seconds(Operation::kBackward);
            ratios.backward.blocks += sum.backward_seconds;
          }
        } else if (penalty != nullptr && penalty->network == id) {
          ratios.penalty_forward =
              std::max(ratios.penalty_forward, seconds(Operation::kPenaltyForward));
          ratios.penalty_backward =
              std::max(ratios.penalty_backward, seconds(Operation::kPenaltyBackward));
        }
      }
    }
  }
  return ratios;
}

double forward_of(const std::string& network, const Profile& profile) {
  double seconds = 0.0;
  for (const BlockCost& block : profile.blocks) {
    seconds += block.network == network ? block.forward.seconds : 0.0;
  }
  return seconds;
}

}  // namespace

PerNetwork<std::vector<WorkCosts>> block_work(const Profile& profile,
                                              const std::vector<pipeline::Phase>& phases,
                                              const PerNetwork<std::string>& names) {
  PerNetwork<std::vector<WorkCosts>> work;
  for (const NetworkId id : names.ids()) {
    const NetworkRatios ratios = ratios_of(id, profile, phases, names);
    const double all = forward_of(names[id], profile);
    std::vector<WorkCosts> blocks;
    for (const BlockCost& block : profile.blocks) {
      if (block.network != names[id]) {
        continue;
      }
      const double share = all > 0.0 ? block.forward.seconds / all : 0.0;
      const double up = ratios.penalty_forward * share / 2;
      const double down = ratios.penalty_backward * share / 2;
      blocks.push_back(
          {.forward_seconds = block.forward.seconds * ratios.forward.value(),
           .input_gradient_seconds = block.input_gradient.seconds * ratios.backward.value(),
           .weight_gradient_seconds = block.weight_gradient.seconds * ratios.backward.value(),
           .sweep_seconds = {up, up, down, down},
           .output_bytes = block.output_bytes,
           .stored_bytes = block.kept_bytes,
           .gradient_bytes = block.parameters * static_cast<std::int64_t>(sizeof(float))});
    }
    work.add(std::move(blocks));
  }
  return work;
}

}  // namespace gangway::launch
