// SPDX-License-Identifier: MIT
#include "plan/node_costs.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <variant>

#include "job/families/families.hpp"
#include "job/layout/stage_cuts.hpp"

namespace gangway::plan {
namespace {

using pipeline::Application;
using pipeline::Operation;
using pipeline::Pass;
using pipeline::Phase;

/// Returns `parts` as shares of their sum; equal shares if the sum is 0.
std::vector<double> shares(std::vector<double> parts) {
  const double all = std::accumulate(parts.begin(), parts.end(), 0.0);
  for (double& part : parts) {
    part = all > 0.0 ? part / all : 1.0 / static_cast<double>(parts.size());
  }
  return parts;
}

double sum_of(const std::vector<double>& of, BlockRange blocks) {
  return std::accumulate(of.begin() + blocks.begin, of.begin() + blocks.end, 0.0);
}

/// Returns the minimum of a block: a product or convolution for each weight, a kernel for each
/// other tensor, and an activation. LibTorch launches more.
double kernels_of_block(const BlockSpec& block) {
  return 1.0 + static_cast<double>(
                   std::visit([](const auto& spec) { return parameters_of(spec); }, block).size());
}

/// Backward kernels for each forward kernel: for inputs and for weights.
constexpr double kKernelsBack = 2.0;

std::int64_t example_bytes(const JobSpec& job) {
  const std::vector<std::int64_t> shape = example_shape(job.model);
  return std::accumulate(shape.begin(), shape.end(),
                         static_cast<std::int64_t>(sizeof(float)) * job.images_per_microbatch(),
                         std::multiplies<>());
}

}  // namespace

BlockCosts::BlockCosts(const JobSpec& job, const Profile& profile, const std::vector<Phase>& phases)
    : job_(job),
      profile_(profile),
      phases_(phases),
      names_(job.network_names()),
      architectures_(job.architectures()) {
  for (const NetworkId id : names_.ids()) {
    std::vector<BlockCost> blocks(std::max<std::size_t>(1, architectures_[id].blocks.size()));
    for (const BlockCost& block : profile.blocks) {
      if (block.network == names_[id] && static_cast<std::size_t>(block.block) < blocks.size()) {
        blocks[static_cast<std::size_t>(block.block)] = block;
      }
    }
    std::vector<BlockLoad> loads(blocks.size());
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      loads[i].parameters = blocks[i].parameters;
    }
    blocks_.add(std::move(blocks));
    loads_.add(std::move(loads));
  }
  for (const Phase& phase : phases_) {
    for (std::size_t pass = 0; pass < phase.passes.size(); ++pass) {
      for (std::size_t node = 0; node < phase.passes[pass].nodes.size(); ++node) {
        if (std::holds_alternative<Application>(phase.passes[pass].nodes[node])) {
          add_application(phase, static_cast<int>(pass), static_cast<int>(node));
        }
      }
    }
  }
  add_cut_bytes();
}

double BlockCosts::seconds(Operation operation, NetworkId network, const Phase& phase, int pass,
                           int node) const {
  return profile_
      .cost_of({.operation = operation,
                .network = network,
                .phase = phase.index,
                .pass = pass,
                .node = node},
               names_)
      .seconds;
}

BlockCosts::Shares BlockCosts::shares_of(const Phase& phase, int pass, int node) const {
  const Pass& graph = phase.passes[static_cast<std::size_t>(pass)];
  const auto& application = std::get<Application>(graph.nodes[static_cast<std::size_t>(node)]);
  const bool is_trained = pipeline::trains(phase, application.network);
  const bool goes_on = wants_input_gradient(graph, application);
  Shares found;
  for (const BlockCost& block : blocks_[application.network]) {
    found.forward.push_back(block.forward.seconds);
    found.backward.push_back(
        (!found.backward.empty() || goes_on ? block.input_gradient.seconds : 0.0) +
        (is_trained ? block.weight_gradient.seconds : 0.0));
  }
  found.forward = shares(std::move(found.forward));
  found.backward = shares(std::move(found.backward));
  return found;
}

void BlockCosts::add_application(const Phase& phase, int pass, int node) {
  const Pass& graph = phase.passes[static_cast<std::size_t>(pass)];
  const auto index = static_cast<std::size_t>(node);
  const NetworkId network = std::get<Application>(graph.nodes[index]).network;
  const Shares parts = shares_of(phase, pass, node);
  const double times = static_cast<double>(phase.repeats) / phase.interval;
  const double forward = seconds(Operation::kForward, network, phase, pass, node);
  const double backward =
      graph.has_gradient[index] ? seconds(Operation::kBackward, network, phase, pass, node) : 0.0;
  std::vector<BlockLoad>& loads = loads_[network];
  for (std::size_t block = 0; block < loads.size(); ++block) {
    loads[block].seconds +=
        times * (forward * parts.forward[block] + backward * parts.backward[block]);
    loads[block].cut_messages += times * (graph.has_gradient[index] ? 2.0 : 1.0);
    // A phase keeps all its passes at once, beside the next phase's forwards.
    loads[block].held_bytes += graph.has_gradient[index] ? blocks_[network][block].kept_bytes : 0;
  }
}

void BlockCosts::add_cut_bytes() {
  for (const NetworkId id : names_.ids()) {
    const auto live = live_tensors(architectures_[id]);
    for (std::size_t block = 0; block + 1 < loads_[id].size(); ++block) {
      loads_[id][block].cut_bytes = bytes_of(id, live[block], static_cast<int>(block));
    }
  }
}

std::int64_t BlockCosts::bytes_of(NetworkId network, const std::vector<std::string>& live,
                                  int last) const {
  std::int64_t bytes = 0;
  for (const std::string& name : live) {
    std::int64_t found = example_bytes(job_);  // an input of the whole network
    for (int block = last; block >= 0; --block) {
      const auto index = static_cast<std::size_t>(block);
      const BlockPorts ports = std::visit([](const auto& spec) { return ports_of(spec); },
                                          architectures_[network].blocks[index]);
      if (std::ranges::find(ports.outputs, name) != ports.outputs.end()) {
        found =
            blocks_[network][index].output_bytes / static_cast<std::int64_t>(ports.outputs.size());
        break;
      }
    }
    bytes += found;
  }
  return bytes;
}

double BlockCosts::share_of(NetworkId network, BlockRange blocks) const {
  std::vector<double> parameters;
  for (const BlockLoad& load : loads_[network]) {
    parameters.push_back(static_cast<double>(load.parameters));
  }
  return sum_of(shares(std::move(parameters)), blocks);
}

std::vector<BucketLoad> BlockCosts::buckets(NetworkId network) const {
  const NetworkCost& cost = profile_.network(names_[network]);
  const std::vector<double> ready = ready_shares(profile_, cost);
  std::vector<BucketLoad> buckets;
  for (std::size_t i = 0; i < ready.size(); ++i) {
    buckets.push_back(
        {.elements = static_cast<double>(cost.buckets[i].elements), .ready_share = ready[i]});
  }
  return buckets;
}

std::vector<BucketLoad> BlockCosts::chunk_buckets(NetworkId network, BlockRange blocks,
                                                  std::size_t count) const {
  // The bucket at the end is a fourth of the others (comm/arena/bucket_plan.cpp).
  constexpr double kOthers = 4.0;
  const auto others = static_cast<double>(std::max<std::size_t>(1, count) - 1);
  const double unit = share_of(network, blocks) *
                      static_cast<double>(profile_.network(names_[network]).arena_elements) /
                      (kOthers * others + 1.0);
  std::vector<double> parameters;
  std::vector<double> seconds;
  for (int i = blocks.begin; i < blocks.end; ++i) {
    const BlockCost& block = blocks_[network][static_cast<std::size_t>(i)];
    parameters.push_back(static_cast<double>(block.parameters));
    seconds.push_back(block.input_gradient.seconds + block.weight_gradient.seconds);
  }
  parameters = shares(std::move(parameters));
  seconds = shares(std::move(seconds));
  std::vector<BucketLoad> buckets;
  for (double left = others; left >= 0.0; left -= 1.0) {
    const double begin = kOthers * left / (kOthers * others + 1.0);
    double end_of_block = 0.0;
    double done = 0.0;
    for (std::size_t block = 0; block < parameters.size(); ++block) {
      end_of_block += parameters[block];
      done += end_of_block > begin + 1e-9 ? seconds[block] : 0.0;
    }
    buckets.push_back(
        {.elements = (left == others ? 1.0 : kOthers) * unit, .ready_share = std::min(1.0, done)});
  }
  return buckets;
}

double NodeCost::share_of(const pipeline::Instruction& at) const {
  switch (at.part) {
    case pipeline::BackwardPart::kInputs:
      return inputs_share;
    case pipeline::BackwardPart::kWeights:
      return 1.0 - inputs_share;
    case pipeline::BackwardPart::kWhole:
      break;
  }
  return 1.0;
}

double NodeCost::seconds_of(const pipeline::Instruction& at) const {
  return at.goes_back() ? backward_seconds * share_of(at) : forward_seconds;
}

double NodeCost::kernels_of(const pipeline::Instruction& at) const {
  return at.goes_back() ? backward_kernels * share_of(at) : forward_kernels;
}

double BlockCosts::kernels_in(NetworkId network, BlockRange blocks) const {
  const std::vector<BlockSpec>& specs = architectures_[network].blocks;
  double kernels = 0.0;
  for (int block = blocks.begin; block < blocks.end; ++block) {
    const auto index = static_cast<std::size_t>(block);
    kernels += index < specs.size() ? kernels_of_block(specs[index]) : 1.0;
  }
  return kernels;
}

NodeCost BlockCosts::application_cost(const StagedJob& staged, const Phase& phase,
                                      const WholeNode& of, int node) const {
  const Pass& cut = phase.passes[static_cast<std::size_t>(of.pass)];
  const auto& here = std::get<Application>(cut.nodes[static_cast<std::size_t>(node)]);
  const NetworkId id = here.network;
  const NetworkGroup& group = staged.layout[id];
  const BlockRange blocks =
      group.is_cut() ? group.chunks[here.part->chunk.place()] : BlockRange{0, num_blocks(id)};
  const Shares shares = shares_of(phases_[static_cast<std::size_t>(phase.index)], of.pass, of.node);
  NodeCost cost{.forward_seconds = seconds(Operation::kForward, id, phase, of.pass, of.node) *
                                   sum_of(shares.forward, blocks),
                .backward_seconds = seconds(Operation::kBackward, id, phase, of.pass, of.node) *
                                    sum_of(shares.backward, blocks),
                .forward_kernels = kernels_in(id, blocks),
                .backward_kernels = kKernelsBack * kernels_in(id, blocks),
                .output_bytes = here.part && !here.part->live.empty()
                                    ? bytes_of(id, here.part->live, blocks.end - 1)
                                    : blocks_[id].back().output_bytes};
  const bool is_kept = cut.has_gradient[static_cast<std::size_t>(node)];
  double to_inputs = 0.0;
  double to_weights = 0.0;
  for (int block = blocks.begin; block < blocks.end; ++block) {
    to_inputs += blocks_[id][static_cast<std::size_t>(block)].input_gradient.seconds;
    to_weights += blocks_[id][static_cast<std::size_t>(block)].weight_gradient.seconds;
  }
  if (to_inputs + to_weights > 0.0) {
    cost.inputs_share = to_inputs / (to_inputs + to_weights);
  }
  for (int block = blocks.begin; block < blocks.end && is_kept; ++block) {
    cost.kept_bytes += blocks_[id][static_cast<std::size_t>(block)].kept_bytes;
  }
  return cost;
}

NodeCost BlockCosts::penalty_cost(const StagedJob& staged, const Phase& phase, const WholeNode& of,
                                  const pipeline::Penalty& penalty) const {
  const NetworkId id = penalty.network;
  const BlockRange all{0, num_blocks(id)};
  const pipeline::PenaltyPart part = penalty.part.value_or(
      pipeline::PenaltyPart{.blocks = all, .goes_forward = true, .goes_back = true});
  // Gradients go back to the chunk that makes the watched tensor, and no further.
  const pipeline::NetworkCuts& cuts = staged.cuts[id];
  const int first =
      penalty.part ? cuts.chunks[cuts.chunk_that_makes(penalty.inner_tensor).place()].begin : 0;
  const auto there = static_cast<std::size_t>(all.end);
  std::vector<double> ahead(2 * there);  // by block: first forward, then back
  std::vector<double> behind(2 * there);
  for (std::size_t i = 0; i < there; ++i) {
    const BlockCost& block = blocks_[id][i];
    const bool is_gone_back = static_cast<int>(i) >= first;
    ahead[i] = block.forward.seconds;
    ahead[there + i] = is_gone_back ? block.input_gradient.seconds : 0.0;
    behind[i] = block.input_gradient.seconds + block.weight_gradient.seconds;
    behind[there + i] = is_gone_back ? behind[i] : 0.0;
  }
  const auto share = [&](std::vector<double> of_blocks) {
    const std::vector<double> parts = shares(std::move(of_blocks));
    const BlockRange back{part.blocks.begin + all.end, part.blocks.end + all.end};
    return (part.goes_forward ? sum_of(parts, part.blocks) : 0.0) +
           (part.goes_back ? sum_of(parts, back) : 0.0);
  };
  NodeCost cost{
      .forward_seconds = seconds(Operation::kPenaltyForward, id, phase, of.pass, of.node) *
                         share(std::move(ahead)),
      .backward_seconds = seconds(Operation::kPenaltyBackward, id, phase, of.pass, of.node) *
                          share(std::move(behind))};
  const int directions = (part.goes_forward ? 1 : 0) + (part.goes_back ? 1 : 0);
  cost.forward_kernels = directions * kernels_in(id, part.blocks);
  cost.backward_kernels = kKernelsBack * cost.forward_kernels;
  for (int block = part.blocks.begin; block < part.blocks.end; ++block) {
    cost.kept_bytes += directions * blocks_[id][static_cast<std::size_t>(block)].kept_bytes;
  }
  std::vector<std::string> made;
  for (const pipeline::Input& one : part.makes) {
    made.push_back(one.name);
  }
  cost.output_bytes =
      bytes_of(id, made, (part.goes_back ? part.blocks.begin : part.blocks.end) - 1);
  return cost;
}

std::vector<NodeCost> BlockCosts::pass_table(const StagedJob& staged, const Phase& phase,
                                             int pass) const {
  const Pass& cut = phase.passes[static_cast<std::size_t>(pass)];
  const Pass& whole =
      phases_[static_cast<std::size_t>(phase.index)].passes[static_cast<std::size_t>(pass)];
  const std::vector<int> origins = pipeline::origins_of(whole, staged.cuts);
  std::vector<NodeCost> costs(cut.nodes.size());
  std::map<std::string, std::int64_t> bytes;  // by tensor
  for (std::size_t node = 0; node < costs.size(); ++node) {
    const pipeline::Node& here = cut.nodes[node];
    NodeCost& cost = costs[node];
    const WholeNode of{.pass = pass, .node = origins[node]};
    if (std::holds_alternative<Application>(here)) {
      cost = application_cost(staged, phase, of, static_cast<int>(node));
    } else if (const auto* penalty = std::get_if<pipeline::Penalty>(&here)) {
      cost = penalty_cost(staged, phase, of, *penalty);
    } else if (std::holds_alternative<pipeline::Reals>(here)) {
      cost.output_bytes = example_bytes(job_);
    } else {
      for (const std::string& taken : pipeline::inputs_of(here)) {
        cost.output_bytes = std::max(cost.output_bytes, bytes[taken]);
      }
    }
    for (const std::string& made : pipeline::outputs_of(here)) {
      bytes[made] = cost.output_bytes;
    }
  }
  return costs;
}

BlockCosts::Table BlockCosts::table(const StagedJob& staged) const {
  Table table;
  for (const Phase& phase : staged.phases) {
    std::vector<std::vector<NodeCost>>& passes = table.emplace_back();
    for (std::size_t pass = 0; pass < phase.passes.size(); ++pass) {
      passes.push_back(pass_table(staged, phase, static_cast<int>(pass)));
    }
  }
  return table;
}

}  // namespace gangway::plan
