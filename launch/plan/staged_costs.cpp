// SPDX-License-Identifier: MIT
#include "launch/plan/staged_costs.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <variant>

#include "launch/plan/predict.hpp"
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

/// Workers on each node that `places` are on.
std::map<int, int> workers_by_node(const std::vector<WorkerPlace>& places) {
  std::map<int, int> workers;
  for (const WorkerPlace& place : places) {
    ++workers[place.node];
  }
  return workers;
}

/// What the lanes of `members` workers take for gradients of `bytes`.
struct ExchangeSeconds {
  double work = 0.0;  ///< sums and update
  double wire = 0.0;  ///< gradients there and weights back, where they are on several nodes
};

ExchangeSeconds exchange_seconds(const NetworkCost& network, double bytes, int members,
                                 bool crosses, const StagedSetup& setup) {
  const double arena = static_cast<double>(network.arena_elements) * sizeof(float);
  const double share = bytes / arena / members;
  const double sums = bytes / members * (members - 1) * setup.profile.add_seconds_per_byte;
  const double rate = setup.cluster.between.bytes_per_second;
  return {.work = share * network.update.seconds + sums,
          .wire = crosses ? 2.0 * bytes * (members - 1) / members / rate : 0.0};
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

pipeline::Costs staged_costs(const pipeline::Layout& layout, const StagedSetup& setup) {
  pipeline::Costs costs;
  const std::map<int, int> on_node = workers_by_node(setup.places);
  const bool crosses = on_node.size() > 1 || (setup.copies > 1 && setup.cluster.nodes.size() > 1);
  // Where workers of a node are not all shown, others beside them are alike.
  const auto beside = [&](int node) {
    const int devices = setup.cluster.nodes[static_cast<std::size_t>(node)].num_devices();
    return std::min(devices, on_node.at(node) * setup.copies);
  };
  double steal = 0.0;
  for (const auto& [node, workers] : on_node) {
    steal = std::max(steal,
                     lane_steal(setup.cluster.nodes[static_cast<std::size_t>(node)], beside(node)));
  }
  for (const NetworkId id : layout.networks.ids()) {
    const pipeline::NetworkLayout& network = layout.networks[id];
    const NetworkCost& cost = setup.profile.network(setup.names[id]);
    const int members = static_cast<int>(network.replicas.size()) * setup.copies;
    std::vector<WorkCosts> chunks;
    std::vector<std::vector<pipeline::BucketCosts>> buckets;
    for (const pipeline::Chunk& chunk : network.chunks) {
      const auto count = static_cast<std::size_t>(chunk.end_block - chunk.first_block);
      const std::span<const WorkCosts> blocks =
          std::span(setup.blocks[id]).subspan(static_cast<std::size_t>(chunk.first_block), count);
      chunks.push_back(pipeline::joined(blocks));
      const auto bytes = static_cast<double>(chunks.back().gradient_bytes);
      const bool is_shared = members > 1 && crosses;
      // Half of them is ready in the middle: as two buckets, the second at the end.
      const ExchangeSeconds lane = exchange_seconds(cost, bytes, members, is_shared, setup);
      chunks.back().update_seconds = steal * lane.work;
      const double seconds = lane.work + lane.wire;
      buckets.push_back(
          {{.ready = 0.5, .seconds = seconds / 2}, {.ready = 1.0, .seconds = seconds / 2}});
    }
    costs.chunks.add(std::move(chunks));
    costs.buckets.add(std::move(buckets));
  }
  costs.links.within = {.latency_seconds = setup.cluster.inside.latency_seconds,
                        .bytes_per_second = setup.cluster.inside.bytes_per_second};
  costs.links.between = {.latency_seconds = setup.cluster.between.latency_seconds,
                         .bytes_per_second = setup.cluster.between.bytes_per_second};
  for (const WorkerPlace& place : setup.places) {
    costs.links.host_of.push_back(place.node);
    const ClusterNode& node = setup.cluster.nodes[static_cast<std::size_t>(place.node)];
    costs.slowness.push_back(slowdown_of(setup.profile, node, beside(place.node)) / place.speed);
  }
  return costs;
}

}  // namespace gangway::launch
