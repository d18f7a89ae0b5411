// SPDX-License-Identifier: MIT
#include "launch/plan/predict.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "comm/arena/reduction_tree.hpp"
#include "launch/plan/partial_sums.hpp"

namespace gangway::launch {
namespace {

constexpr double kSecondsPerHour = 3600.0;

/// Workers that share memory.
struct HostGroup {
  int node = 0;
  MicrobatchRange range;  ///< of all of them
  int workers = 0;
  int partials = 0;  ///< of all of them
  int sums = 0;      ///< the fewest whole subtrees of the host
};

/// Everything of a layout that the simulation asks for.
class LayoutModel {
 public:
  LayoutModel(const PlanInput& input, const PlannedLayout& layout)
      : input_(input),
        microbatches_(input.job.training.microbatches),
        places_(places_of(layout, input.cluster, microbatches_)) {
    find_hosts();
    for (const WorkerPlace& place : places_) {
      const PartialSums sums = sums_of(place.range);
      ++classes_[class_of(place, sums)];
      sums_.push_back(sums);
    }
  }

  [[nodiscard]] const std::map<WorkerClass, int>& classes() const { return classes_; }
  [[nodiscard]] const std::vector<WorkerPlace>& places() const { return places_; }

  /// Of the worker that needs most of its device.
  void set_memory(Prediction& prediction) const {
    double fullest = -1.0;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const WorkerPlace& place = places_[i];
      const ClusterNode& node = input_.cluster.nodes[static_cast<std::size_t>(place.node)];
      const HostGroup& host = hosts_[static_cast<std::size_t>(place.host)];
      const WorkerMemory memory = worker_memory(input_.job, input_.profile,
                                                {.sums = sums_[i],
                                                 .workers = static_cast<int>(places_.size()),
                                                 .partials_of_host = host.partials,
                                                 .agrees = input_.costs.agrees()},
                                                place.range.size());
      const auto bytes = static_cast<double>(memory.total_bytes());
      const double fullness =
          node.memory_bytes > 0 ? bytes / static_cast<double>(node.memory_bytes) : bytes * 1e-18;
      if (fullness > fullest) {
        fullest = fullness;
        prediction.memory = memory;
        prediction.memory_limit = node.memory_bytes;
      }
    }
    prediction.fits =
        prediction.memory_limit == 0 || prediction.memory.needed_bytes() <= prediction.memory_limit;
  }

  /// Of one reduction of `network`, as comm::bytes_between_hosts().
  [[nodiscard]] double bytes_between_hosts(const NetworkCost& network, double wire_bytes) const {
    double elements = 0.0;
    const auto others = static_cast<double>(hosts_.size()) - 1.0;
    for (const HostGroup& host : hosts_) {
      const double share = share_of(host);
      elements += static_cast<double>(network.arena_elements) *
                  ((1.0 - share) * host.sums + share * others);
    }
    return elements * wire_bytes;
  }

 private:
  [[nodiscard]] double share_of(const HostGroup& host) const {
    return static_cast<double>(host.workers) / static_cast<double>(places_.size());
  }

  PartialSums sums_of(MicrobatchRange range) const { return partial_sums(range, microbatches_); }

  void find_hosts() {
    for (const auto& [pair, link] : input_.cluster.exceptions) {
      exceptions_[pair.first].emplace_back(pair.second, &link);
      exceptions_[pair.second].emplace_back(pair.first, &link);
    }
    for (const WorkerPlace& place : places_) {
      if (static_cast<int>(hosts_.size()) == place.host) {
        hosts_.push_back({.node = place.node, .range = {place.range.begin, place.range.begin}});
        ++hosts_on_node_[place.node];
      }
      HostGroup& host = hosts_.back();
      host.range.end = place.range.end;
      host.partials += sums_of(place.range).partials;
      ++host.workers;
    }
    for (HostGroup& host : hosts_) {
      host.sums = static_cast<int>(comm::whole_subtrees(host.range, microbatches_).size());
      all_sums_ += host.sums;
    }
  }

  WorkerClass class_of(const WorkerPlace& place, const PartialSums& sums) {
    const HostGroup& host = hosts_[static_cast<std::size_t>(place.host)];
    const ClusterNode& node = input_.cluster.nodes[static_cast<std::size_t>(place.node)];
    const int on_node = hosts_on_node_[place.node] == 1 ? host.workers : hosts_on_node_[place.node];
    WorkerClass result{.speed = place.speed,
                       .slowdown = slowdown_of(input_.profile, node, on_node),
                       .lane_steal = lane_steal(node, on_node),
                       .local_microbatches = place.range.size(),
                       .early_merges = sums.early_merges,
                       .last_merges = sums.last_merges,
                       .host_workers = host.workers,
                       .host_share = share_of(host),
                       .host_sums = host.sums,
                       .host_partials = host.partials,
                       .sources = host.partials + all_sums_ - host.sums,
                       .other_hosts = static_cast<int>(hosts_.size()) - 1};
    if (result.other_hosts > 0) {
      const auto elsewhere = static_cast<double>(places_.size()) - host.workers;
      result.messages =
          std::max(elsewhere / host.workers * host.sums, static_cast<double>(result.other_hosts));
      set_links(host, result);
    }
    return result;
  }

  /// How long the host's share of each byte occupies its links.
  void set_links(const HostGroup& host, WorkerClass& result) {
    const Cluster& cluster = input_.cluster;
    const auto others = static_cast<double>(result.other_hosts);
    const double beside = hosts_on_node_[host.node] - 1;
    const double sharing = hosts_on_node_[host.node];
    const double away = others - beside;
    const double inside = beside / others * (cluster.inside.is_shared ? sharing : 1.0) /
                          cluster.inside.bytes_per_second;
    const double lines = cluster.between.is_shared ? 1.0 / sharing : host.workers;
    double between = away / others / lines / cluster.between.bytes_per_second;
    result.latency_seconds = beside > 0 ? cluster.inside.latency_seconds : 0.0;
    if (away > 0) {
      result.latency_seconds = std::max(result.latency_seconds, cluster.between.latency_seconds);
    }
    for (const auto& [other, link] : exceptions_[host.node]) {
      const auto there = hosts_on_node_.find(other);
      if (there != hosts_on_node_.end()) {
        between = std::max(between, there->second / others * sharing / link->bytes_per_second);
        result.latency_seconds = std::max(result.latency_seconds, link->latency_seconds);
      }
    }
    result.seconds_per_byte = inside + between;
  }

  const PlanInput& input_;
  int microbatches_;
  std::vector<WorkerPlace> places_;
  std::vector<PartialSums> sums_;  // by worker
  std::vector<HostGroup> hosts_;
  std::map<int, int> hosts_on_node_;
  std::map<int, std::vector<std::pair<int, const Link*>>> exceptions_;  // by node, to which other
  int all_sums_ = 0;
  std::map<WorkerClass, int> classes_;  // and how many workers are of it
};

double wire_bytes_of(WireFormat wire) { return wire == WireFormat::kFp32 ? 4.0 : 2.0; }

using Programs = std::vector<std::vector<ProgramPart>>;

Programs programs_of(const PlanInput& input, const std::vector<WorkerClass>& classes,
                     const PlannedLayout& layout, int lazy) {
  Programs programs;
  std::map<std::pair<int, int>, std::size_t> known;  // by micro-batches and merges
  for (const WorkerClass& one : classes) {
    const auto [found, is_new] =
        known.try_emplace({one.local_microbatches, one.early_merges}, programs.size());
    programs.push_back(is_new ? input.costs.program({.early_merges = one.early_merges,
                                                     .local_microbatches = one.local_microbatches,
                                                     .overlap = layout.overlap,
                                                     .recompute = layout.recompute,
                                                     .lazy = lazy})
                              : programs[found->second]);
  }
  return programs;
}

/// Of one micro-batch after the other on the profiled device, with nobody to exchange anything.
double alone_seconds(const PlanInput& input) {
  double updates = 0.0;
  for (const NetworkId id : input.job.networks.ids()) {
    updates += input.costs.updates_in_step(id) *
               input.profile.network(input.job.networks[id].name).update.seconds;
  }
  return input.job.training.microbatches * input.costs.microbatch_seconds() + updates;
}

}  // namespace

double slowdown_of(const Profile& profile, const ClusterNode& node, int workers) {
  if (node.cores == 0) {
    return 1.0;
  }
  const auto measured = static_cast<int>(profile.together.size());
  const double beside = profile.together[static_cast<std::size_t>(std::min(workers, measured) - 1)];
  return beside * std::max(1.0, static_cast<double>(workers) / node.cores);
}

double lane_steal(const ClusterNode& node, int workers) {
  if (node.cores == 0) {
    return 0.0;
  }
  return std::clamp(static_cast<double>(2 * workers - node.cores) / workers, 0.0, 1.0);
}

void set_step_figures(const PlanInput& input, const std::vector<WorkerPlace>& places,
                      Prediction& prediction) {
  double speed = 0.0;
  double price = 0.0;
  std::set<int> nodes;
  for (const WorkerPlace& place : places) {
    speed += place.speed;
    if (nodes.insert(place.node).second) {
      price += input.cluster.nodes[static_cast<std::size_t>(place.node)].price_per_hour;
    }
  }
  prediction.images_per_second =
      static_cast<double>(input.job.images_per_step()) / prediction.step_seconds;
  prediction.efficiency = alone_seconds(input) / (prediction.step_seconds * speed);
  prediction.price_per_kimg = price / kSecondsPerHour * 1000.0 / prediction.images_per_second;
}

Prediction predict(const PlanInput& input, const PlannedLayout& layout) {
  const LayoutModel model(input, layout);
  StepSimulation::Setup setup{.profile = &input.profile, .workers = layout.workers};
  for (const NetworkId id : input.job.networks.ids()) {
    setup.networks.push_back(id);
    setup.wire_bytes.push_back(wire_bytes_of(input.job.networks[id].wire));
  }
  for (const auto& [one, count] : model.classes()) {
    setup.classes.push_back(one);
  }
  const std::vector<WorkerClass> classes = setup.classes;
  StepSimulation simulation(std::move(setup));
  const Programs usual = programs_of(input, classes, layout, -1);
  simulation.run(usual);
  simulation.run(usual);
  (void)simulation.take();  // by now every step is as the one before
  simulation.run(usual);
  const StepSimulation::Stretch step = simulation.take();
  Prediction prediction{.layout = layout, .step_seconds = step.seconds, .parts = step.parts};
  for (const int lazy : input.costs.lazy_phases()) {
    simulation.run(programs_of(input, classes, layout, lazy));
    simulation.run(usual);
    const double more = simulation.take().seconds - 2.0 * step.seconds;
    prediction.step_seconds += std::max(0.0, more) / input.costs.interval_of(lazy);
  }
  set_step_figures(input, model.places(), prediction);
  for (const NetworkId id : input.job.networks.ids()) {
    const NetworkCost& cost = input.profile.network(input.job.networks[id].name);
    prediction.bytes_between_hosts += static_cast<std::int64_t>(
        input.costs.updates_in_step(id) *
        model.bytes_between_hosts(cost, wire_bytes_of(input.job.networks[id].wire)));
  }
  model.set_memory(prediction);
  return prediction;
}

double least_seconds(const PlanInput& input, int workers) {
  const int microbatches = input.job.training.microbatches;
  double fastest = 0.0;
  for (const ClusterNode& node : input.cluster.nodes) {
    fastest = std::max(fastest, *std::ranges::max_element(node.speeds));
  }
  const int largest = (microbatches + workers - 1) / workers;
  return largest * input.costs.microbatch_seconds() / fastest;
}

}  // namespace gangway::launch
