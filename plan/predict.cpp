// SPDX-License-Identifier: MIT
#include "plan/predict.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "job/estimate/device_estimate.hpp"
#include "pipeline/recorded_list.hpp"
#include "pipeline/stages/stage_schedule.hpp"
#include "plan/exchange.hpp"

namespace gangway::plan {
namespace {

constexpr double kSecondsPerHour = 3600.0;

/// Micro-batches with instructions of their own: the first, the last, and one for all between,
/// which are alike.
constexpr int kDistinctMicrobatches = 3;

/// Returns `list` as a worker with all networks runs it: recorded steps send gradients after their
/// graph (worker/step/step_graphs.hpp), unless the layout sends them earlier.
std::vector<pipeline::Instruction> performed(const Job& job, LayoutChoice choice,
                                             std::vector<pipeline::Instruction> list) {
  choice.shares.clear();
  if (!records_steps(job, resolve_layout(job, choice, 1))) {
    return list;
  }
  return pipeline::unarmed(list, choice.cuda_graph == GraphChoice::kOverlap
                                     ? pipeline::Armed::kAlone
                                     : pipeline::Armed::kNone);
}

/// Returns one_stage_schedule() lists, by number of micro-batches up to kDistinctMicrobatches.
StepLists distinct_lists(const PlanInput& input, const LayoutChoice& layout) {
  const std::vector<pipeline::Phase>& phases = input.costs.phases();
  const auto lists_of = [&](int lazy) {
    std::vector<pipeline::Phase> chosen;
    for (pipeline::Phase phase : phases) {
      if (phase.interval == 1 || phase.index == lazy) {
        phase.interval = 1;
        chosen.push_back(std::move(phase));
      }
    }
    Lists lists;
    for (int listed = 1; listed <= kDistinctMicrobatches; ++listed) {
      lists.push_back(performed(
          input.job, layout,
          pipeline::one_stage_schedule(chosen, {0, listed}, 0, layout.overlap, layout.recompute)));
    }
    return lists;
  };
  StepLists lists{.usual = lists_of(-1), .lazy = {}};
  for (const pipeline::Phase& phase : phases) {
    if (phase.interval > 1) {
      lists.lazy.push_back({.interval = phase.interval, .lists = lists_of(phase.index)});
    }
  }
  return lists;
}

/// Returns one simulated worker for each class of identical workers.
std::vector<SimulatedWorker> workers_of(const PlanInput& input, const ExchangeGroup& all) {
  std::vector<Exchanged> networks;
  for (const NetworkId id : input.job.networks.ids()) {
    if (!input.job.networks[id].is_frozen) {
      networks.push_back({.network = id, .buckets = input.costs.blocks().buckets(id)});
    }
  }
  const std::map<int, int> on_node = workers_by_node(all.places());
  std::set<std::pair<SimulatedDevice, ExchangeMember>> classes;
  for (std::size_t i = 0; i < all.places().size(); ++i) {
    const WorkerPlace& place = all.places()[i];
    classes.emplace(device_at(input, place, on_node.at(place.node)), all.member(i));
  }
  std::vector<SimulatedWorker> workers;
  for (const auto& [device, member] : classes) {
    const int listed = std::min(member.microbatches, kDistinctMicrobatches);
    SimulatedWorker worker{.device = device,
                           .list = static_cast<std::size_t>(listed - 1),
                           .link = static_cast<int>(workers.size()),
                           .middle_microbatches = member.microbatches - listed + 1.0,
                           .parts = {}};
    for (const Exchanged& what : networks) {
      ExchangePart part = exchange_part(input, what, member, device);
      part.group = static_cast<int>(what.network);
      worker.parts.emplace(what.network, std::move(part));
    }
    workers.push_back(std::move(worker));
  }
  return workers;
}

/// Sets the memory of the worker that fills its device most.
void set_memory(const PlanInput& input, const ExchangeGroup& all, Prediction& prediction) {
  std::vector<DeviceNeed> needs;
  for (std::size_t i = 0; i < all.places().size(); ++i) {
    const ExchangeMember member = all.member(i);
    needs.push_back(
        {worker_memory(input.job, input.profile,
                       {.sums = member.sums,
                        .workers = member.workers,
                        .partials_of_host = member.host_partials,
                        .agrees = input.costs.agrees()},
                       member.microbatches),
         input.cluster.nodes[static_cast<std::size_t>(all.places()[i].node)].memory_bytes});
  }
  set_fullest(needs, prediction);
}

/// Returns the seconds of all micro-batches on one such device, without any exchange.
double alone_seconds(const PlanInput& input, const SimulatedDevice& device) {
  double updates = 0.0;
  for (const NetworkId id : input.job.networks.ids()) {
    updates += input.costs.updates_in_step(id) *
               input.profile.network(input.job.networks[id].name).update.seconds;
  }
  return input.job.training.microbatches * input.costs.microbatch_seconds_on(device) +
         updates / device.speed;
}

}  // namespace

void set_fullest(const std::vector<DeviceNeed>& needs, Prediction& prediction) {
  const auto fullness = [](const DeviceNeed& need) {
    const auto bytes = static_cast<double>(need.memory.total_bytes());
    return need.limit > 0 ? bytes / static_cast<double>(need.limit) : bytes * 1e-18;
  };
  const auto fullest = std::ranges::max_element(needs, {}, fullness);
  prediction.memory = fullest->memory;
  prediction.memory_limit = fullest->limit;
  prediction.fits = fullest->limit == 0 || fullest->memory.needed_bytes() <= fullest->limit;
}

void set_step_figures(const PlanInput& input, const std::vector<WorkerPlace>& places,
                      Prediction& prediction) {
  double alone = 0.0;  // steps a second, summed over all devices
  double price = 0.0;
  std::set<int> nodes;
  for (const WorkerPlace& place : places) {
    const ClusterNode& node = input.cluster.nodes[static_cast<std::size_t>(place.node)];
    alone +=
        1.0 / alone_seconds(input, {.speed = place.speed, .launch_seconds = node.launch_seconds});
    if (nodes.insert(place.node).second) {
      price += node.price_per_hour;
    }
  }
  prediction.images_per_second =
      static_cast<double>(input.job.images_per_step()) / prediction.step_seconds;
  prediction.efficiency = 1.0 / (prediction.step_seconds * alone);
  prediction.price_per_kimg = price / kSecondsPerHour * 1000.0 / prediction.images_per_second;
}

Prediction predict(const PlanInput& input, const Candidate& candidate) {
  const int microbatches = input.job.training.microbatches;
  const ExchangeGroup all(input.cluster, places_of(candidate, input.cluster, microbatches),
                          microbatches);
  const Simulation::Stretch step = mean_step({.costs = input.costs.whole(),
                                              .workers = workers_of(input, all),
                                              .links = {},
                                              .wake_seconds = input.profile.wake_seconds},
                                             distinct_lists(input, candidate.choice));
  Prediction prediction{.candidate = candidate, .step_seconds = step.seconds, .parts = step.parts};
  set_step_figures(input, all.places(), prediction);
  for (const NetworkId id : input.job.networks.ids()) {
    const NetworkSpec& network = input.job.networks[id];
    const auto elements = static_cast<double>(input.profile.network(network.name).arena_elements);
    prediction.bytes_between_hosts += static_cast<std::int64_t>(
        input.costs.updates_in_step(id) * all.sent_bytes(elements, wire_bytes_of(input.job, id)));
  }
  set_memory(input, all, prediction);
  return prediction;
}

double least_seconds(const PlanInput& input, int workers) {
  const int microbatches = input.job.training.microbatches;
  const int largest = (microbatches + workers - 1) / workers;
  return largest * input.costs.microbatch_seconds() / input.cluster.fastest_speed();
}

}  // namespace gangway::plan
