// SPDX-License-Identifier: MIT
#include "launch/plan/predict_staged.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "launch/plan/staged_costs.hpp"
#include "pipeline/layout/placements.hpp"
#include "pipeline/simulator/simulator.hpp"
#include "pipeline/staged/lowering.hpp"

namespace gangway::launch {
namespace {

/// Simulated: two that fill the pipeline, one that empties it, and some between.
constexpr int kSteps = 6;
/// Applications of chunks to micro-batches in a step, above which a layout is not simulated.
constexpr std::size_t kMostWork = 6000;
constexpr std::array kStages{2, 3, 4, 6, 8, 12, 16};

PerNetwork<int> num_blocks(const PlanInput& input) {
  PerNetwork<int> blocks;
  for (const NetworkSpec& network : input.job.networks) {
    blocks.add(static_cast<int>(
        std::ranges::count(input.profile.blocks, network.name, &BlockCost::network)));
  }
  return blocks;
}

pipeline::Placement placement_of(LayoutShape shape) {
  return shape == LayoutShape::kV           ? pipeline::Placement::kV
         : shape == LayoutShape::kTwoChunks ? pipeline::Placement::kTwoChunks
                                            : pipeline::Placement::kLoop;
}

/// Copies that are alike are simulated once.
struct Shown {
  pipeline::Layout layout;
  int copies = 1;
};

Shown shown_part(const PlanInput& input, const PlannedLayout& layout,
                 const PerNetwork<std::vector<pipeline::WorkCosts>>& blocks) {
  const int microbatches = input.job.training.microbatches;
  if (layout.shape == LayoutShape::kApart) {
    PerNetwork<int> groups;
    for (const int workers : layout.groups) {
      groups.add(workers);
    }
    return {.layout = pipeline::groups_apart(groups, microbatches, num_blocks(input))};
  }
  const int copies = layout.workers / layout.stages;
  Shown shown{.layout = pipeline::placed(placement_of(layout.shape), layout.stages,
                                         (microbatches + copies - 1) / copies, num_blocks(input)),
              .copies = copies};
  for (const NetworkId id : shown.layout.networks.ids()) {
    std::vector<double> seconds;
    for (const pipeline::WorkCosts& block : blocks[id]) {
      seconds.push_back(block.forward_seconds + block.input_gradient_seconds +
                        block.weight_gradient_seconds);
    }
    pipeline::NetworkLayout& network = shown.layout.networks[id];
    network.chunks = pipeline::balanced_chunks(seconds, network.num_chunks());
  }
  return shown;
}

std::int64_t arenas_of(const PlanInput& input, const Shown& shown, int worker) {
  std::int64_t bytes = 0;
  for (const NetworkId id : shown.layout.networks.ids()) {
    const pipeline::NetworkLayout& network = shown.layout.networks[id];
    const NetworkCost& cost = input.profile.network(input.job.networks[id].name);
    const int members = static_cast<int>(network.replicas.size()) * shown.copies;
    double held = 0.0;  // of the network's parameters
    for (const pipeline::Replica& replica : network.replicas) {
      for (std::size_t chunk = 0; chunk < replica.workers.size(); ++chunk) {
        for (int block = network.chunks[chunk].first_block;
             replica.workers[chunk] == worker && block < network.chunks[chunk].end_block; ++block) {
          for (const BlockCost& one : input.profile.blocks) {
            held += one.network == cost.name && one.block == block
                        ? static_cast<double>(one.parameters)
                        : 0.0;
          }
        }
      }
    }
    const double share = held / static_cast<double>(std::max<std::int64_t>(1, cost.parameters));
    // Open leaves are among what the simulation holds.
    bytes += static_cast<std::int64_t>(
        share * static_cast<double>(arena_bytes(cost, {.sums = {.buffers = 1, .partials = 1},
                                                       .workers = std::max(1, members)})));
  }
  return bytes;
}

void set_staged_memory(const PlanInput& input, const Shown& shown,
                       const pipeline::Simulation& simulation,
                       const std::vector<WorkerPlace>& places, Prediction& prediction) {
  double fullest = -1.0;
  for (std::size_t worker = 0; worker < simulation.workers.size(); ++worker) {
    const WorkerMemory memory{
        .process_bytes = input.profile.memory.process_bytes + kWorkerProgramBytes,
        .arenas_bytes = arenas_of(input, shown, static_cast<int>(worker)),
        .working_bytes = input.profile.memory.working_bytes + simulation.workers[worker].peak_bytes,
        .other_bytes = input.profile.memory.other_bytes +
                       kept_bytes(input.job, input.profile, shown.layout.num_microbatches)};
    const std::int64_t limit =
        input.cluster.nodes[static_cast<std::size_t>(places[worker].node)].memory_bytes;
    const double fullness =
        static_cast<double>(memory.total_bytes()) / (limit > 0 ? static_cast<double>(limit) : 1e18);
    if (fullness > fullest) {
      fullest = fullness;
      prediction.memory = memory;
      prediction.memory_limit = limit;
    }
  }
  prediction.fits =
      prediction.memory_limit == 0 || prediction.memory.total_bytes() <= prediction.memory_limit;
}

/// Of the worker that computes most; what is left of a step is a bubble.
StepParts staged_parts(const pipeline::Simulation& simulation, double step_seconds) {
  StepParts parts;
  std::size_t busiest = 0;
  for (std::size_t i = 0; i < simulation.workers.size(); ++i) {
    busiest =
        simulation.workers[i].busy_seconds > simulation.workers[busiest].busy_seconds ? i : busiest;
  }
  const pipeline::SimulatedWorker& worker = simulation.workers[busiest];
  const double steps = simulation.seconds / step_seconds;
  parts.compute = std::min(step_seconds, worker.busy_seconds / steps);
  const double rest = step_seconds - parts.compute;
  const double exposed = worker.exposed_seconds / steps;
  const double messages = worker.message_seconds / steps;
  const double waits = exposed + messages;
  parts.sums = waits > 0.0 ? rest * exposed / waits : 0.0;
  parts.bubble = rest - parts.sums;
  return parts;
}

}  // namespace

std::vector<PlannedLayout> staged_layouts(const PlanInput& input, int workers) {
  std::vector<PlannedLayout> layouts;
  const auto networks = static_cast<int>(input.job.networks.size());
  const auto microbatches = input.job.training.microbatches;
  constexpr int kMostApart = 64;
  if (networks >= 2 && workers >= networks && workers <= kMostApart) {
    // By what each network computes, one worker at least.
    std::vector<double> seconds;
    for (const NetworkSpec& network : input.job.networks) {
      double sum = 0.0;
      for (const InstructionCost& cost : input.profile.instructions) {
        sum += cost.network == network.name ? cost.time.seconds : 0.0;
      }
      seconds.push_back(sum);
    }
    std::vector<int> groups(static_cast<std::size_t>(networks), 1);
    const auto dearness = [&](std::size_t i) {
      return groups[i] < microbatches ? seconds[i] / groups[i] : 0.0;
    };
    for (int left = workers - networks; left > 0; --left) {
      std::size_t dearest = 0;
      for (std::size_t i = 0; i < groups.size(); ++i) {
        dearest = dearness(i) > dearness(dearest) ? i : dearest;
      }
      ++groups[dearest];
    }
    if (*std::ranges::max_element(groups) <= microbatches) {
      layouts.push_back({.workers = workers, .shape = LayoutShape::kApart, .groups = groups});
    }
  }
  const PerNetwork<int> blocks = num_blocks(input);
  const int fewest = *std::ranges::min_element(blocks);
  for (const int stages : kStages) {
    const int copies = workers / stages;
    if (workers % stages != 0 || copies > microbatches || stages > fewest) {
      continue;
    }
    const std::size_t work = static_cast<std::size_t>((microbatches + copies - 1) / copies) *
                             static_cast<std::size_t>(stages * networks);
    for (const LayoutShape shape : {LayoutShape::kLoop, LayoutShape::kV, LayoutShape::kTwoChunks}) {
      const bool is_double = shape == LayoutShape::kTwoChunks;
      if (work <= kMostWork / (is_double ? 2 : 1) && (!is_double || 2 * stages <= fewest)) {
        layouts.push_back({.workers = workers, .shape = shape, .stages = stages});
      }
    }
  }
  return layouts;
}

Prediction predict_staged(const PlanInput& input, const PlannedLayout& layout) {
  const PerNetwork<std::string> names = input.job.network_names();
  const PerNetwork<std::vector<pipeline::WorkCosts>> blocks =
      block_work(input.profile, input.costs.phases(), names);
  const Shown shown = shown_part(input, layout, blocks);
  std::vector<WorkerPlace> places =
      places_of(layout, input.cluster, input.job.training.microbatches);
  const std::vector<WorkerPlace> all = places;
  places.resize(static_cast<std::size_t>(shown.layout.num_workers));
  const pipeline::Costs costs = staged_costs(shown.layout, {.profile = input.profile,
                                                            .cluster = input.cluster,
                                                            .blocks = blocks,
                                                            .names = names,
                                                            .places = places,
                                                            .copies = shown.copies});
  // Lazy phases as often as they come in as many steps: none of them is longer than that here.
  int steps = kSteps;
  for (const int lazy : input.costs.lazy_phases()) {
    constexpr int kMostSteps = 40;
    steps = std::min(kMostSteps, std::max(steps, 2 * input.costs.interval_of(lazy) + 3));
  }
  const pipeline::Simulation simulation = pipeline::simulate(
      pipeline::stage_schedule(input.costs.phases(), shown.layout, 0, steps, costs, {}), costs);
  Prediction prediction{.layout = layout, .step_seconds = simulation.step_seconds()};
  prediction.parts = staged_parts(simulation, prediction.step_seconds);
  set_step_figures(input, all, prediction);
  set_staged_memory(input, shown, simulation, places, prediction);
  return prediction;
}

}  // namespace gangway::launch
