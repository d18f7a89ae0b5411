// SPDX-License-Identifier: MIT
#include "plan/candidate.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "job/choices.hpp"
#include "job/file/parse.hpp"
#include "job/layout/layout.hpp"
#include "job/transports.hpp"

namespace gangway::plan {
namespace {

double total_speed(const ClusterNode& node) {
  return std::accumulate(node.speeds.begin(), node.speeds.end(), 0.0);
}

std::vector<int> devices_by_speed(const ClusterNode& node) {
  std::vector<int> devices(node.speeds.size());
  std::iota(devices.begin(), devices.end(), 0);
  std::ranges::stable_sort(devices, [&](int a, int b) {
    return node.speeds[static_cast<std::size_t>(a)] > node.speeds[static_cast<std::size_t>(b)];
  });
  return devices;
}

/// "4 x 2 stages, cuts 2 | 1,3, v, 1f1b".
std::string stages_text(const Candidate& candidate) {
  const LayoutChoice& choice = candidate.choice;
  std::vector<std::string> cuts;
  for (const NetworkPlacement& of : choice.networks) {
    cuts.push_back(of.cuts->empty() ? "-" : fmt::format("{}", fmt::join(*of.cuts, ",")));
  }
  std::string text = fmt::format("{} x {} stages, cuts {}", candidate.rows(), choice.stages,
                                 fmt::join(cuts, " | "));
  if (choice.placement != StagePlacement::kLoop) {
    text += fmt::format(", {}", name_of(choice.placement));
  }
  if (choice.schedule != StageOrder::kFill) {
    text += fmt::format(", {}", name_of(choice.schedule));
  }
  if (choice.in_flight != 0) {
    text += fmt::format(", {} in flight", choice.in_flight);
  }
  return text;
}

std::string shape_text(const Candidate& candidate) {
  const LayoutChoice& choice = candidate.choice;
  if (candidate.is_whole()) {
    return fmt::format("overlap {}, {}", name_of(choice.overlap), name_of(choice.transport));
  }
  if (candidate.has_stages()) {
    return stages_text(candidate);
  }
  std::vector<std::size_t> counts;
  for (const NetworkPlacement& network : choice.networks) {
    counts.push_back(network.workers.size());
  }
  return fmt::format("networks apart {}", fmt::join(counts, " + "));
}

}  // namespace

Candidate whole_candidate(const JobSpec& job, int workers, Overlap overlap,
                          TransportKind transport) {
  Candidate candidate{.workers = workers, .choice = job.layout};
  LayoutChoice& choice = candidate.choice;
  choice.plan.clear();
  choice.data = 0;
  choice.stages = 1;
  choice.overlap = overlap;
  choice.transport = transport;
  choice.recompute = false;
  for (NetworkPlacement& network : choice.networks) {
    network = {};
  }
  return candidate;
}

Candidate placed_candidate(const JobSpec& job, int workers) {
  Candidate candidate{.workers = workers, .choice = job.layout};
  if (candidate.choice.transport == TransportKind::kAuto) {
    candidate.choice.transport = TransportKind::kShm;
  }
  const Layout layout = resolve_layout(job, workers);
  if (candidate.is_whole()) {
    return candidate;
  }
  for (const NetworkId id : job.networks.ids()) {
    std::vector<int>& cuts = candidate.choice.networks[id].cuts.emplace();
    for (const BlockRange chunk : std::span(layout[id].chunks).subspan(1)) {
      cuts.push_back(chunk.begin);
    }
  }
  return candidate;
}

JobSpec with_layout(JobSpec job, const Candidate& candidate) {
  job.layout = candidate.choice;
  return job;
}

std::vector<int> nodes_by_speed(const Cluster& cluster) {
  std::vector<int> nodes(cluster.nodes.size());
  std::iota(nodes.begin(), nodes.end(), 0);
  std::ranges::stable_sort(nodes, [&](int a, int b) {
    const ClusterNode& first = cluster.nodes[static_cast<std::size_t>(a)];
    const ClusterNode& second = cluster.nodes[static_cast<std::size_t>(b)];
    return total_speed(first) / first.num_devices() > total_speed(second) / second.num_devices();
  });
  return nodes;
}

std::vector<WorkerPlace> places_of(const Candidate& candidate, const Cluster& cluster,
                                   int num_microbatches) {
  std::vector<WorkerPlace> places;
  const bool sends_alone = traits_of(candidate.choice.transport).sharing == MemorySharing::kNobody;
  int host = -1;
  for (const int number : nodes_by_speed(cluster)) {
    const ClusterNode& node = cluster.nodes[static_cast<std::size_t>(number)];
    bool is_first = true;
    for (const int device : devices_by_speed(node)) {
      const auto worker = static_cast<int>(places.size());
      if (worker == candidate.workers) {
        return places;
      }
      host += is_first || sends_alone ? 1 : 0;
      is_first = false;
      places.push_back({.node = number,
                        .device = device,
                        .host = host,
                        .speed = node.speeds[static_cast<std::size_t>(device)],
                        .range = microbatch_range(num_microbatches, candidate.workers, worker)});
    }
  }
  return places;
}

std::string describe(const Candidate& candidate) {
  return fmt::format("{} worker{}, {}{}", candidate.workers, candidate.workers == 1 ? "" : "s",
                     shape_text(candidate), candidate.choice.recompute ? ", recompute" : "");
}

std::vector<HostSlots> hosts_of(const Candidate& candidate, const Cluster& cluster) {
  std::vector<HostSlots> hosts;
  int node = -1;
  for (const WorkerPlace& place : places_of(candidate, cluster, candidate.workers)) {
    if (place.node != node) {
      node = place.node;
      hosts.push_back({.name = cluster.nodes[static_cast<std::size_t>(node)].name});
    }
    ++hosts.back().slots;
  }
  return hosts;
}

Candidate runnable(Candidate candidate, const JobSpec& job, const Cluster& cluster) {
  TransportKind& transport = candidate.choice.transport;
  const TransportTraits& traits = traits_of(transport);
  if (job.numerics.device == DeviceKind::kCuda && traits.device == TransportDevice::kCpu) {
    transport =
        traits.sharing == MemorySharing::kNobody ? TransportKind::kNccl : TransportKind::kAuto;
  } else if (traits.sharing == MemorySharing::kEverybody &&
             hosts_of(candidate, cluster).size() > 1) {
    transport = TransportKind::kHierarchical;
  }
  return candidate;
}

std::vector<std::string> layout_keys(const Candidate& candidate, const JobSpec& job) {
  return changed_keys(job, with_layout(job, candidate));
}

std::string run_arguments(const Candidate& candidate, const JobSpec& job) {
  std::vector<std::string> words = layout_keys(candidate, job);
  words.insert(words.begin(), fmt::format("-n {}", candidate.workers));
  return fmt::format("{}", fmt::join(words, " "));
}

}  // namespace gangway::plan
