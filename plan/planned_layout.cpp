// SPDX-License-Identifier: MIT
#include "plan/planned_layout.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "job/choices.hpp"

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
std::string stages_text(const PlannedLayout& layout) {
  std::vector<std::string> cuts;
  for (const std::vector<int>& of : layout.cuts) {
    cuts.push_back(of.empty() ? "-" : fmt::format("{}", fmt::join(of, ",")));
  }
  std::string text = fmt::format("{} x {} stages, cuts {}", layout.workers / layout.stages,
                                 layout.stages, fmt::join(cuts, " | "));
  if (layout.placement != StagePlacement::kLoop) {
    text += fmt::format(", {}", name_of(layout.placement));
  }
  if (layout.schedule != StageOrder::kFill) {
    text += fmt::format(", {}", name_of(layout.schedule));
  }
  if (layout.in_flight != 0) {
    text += fmt::format(", {} in flight", layout.in_flight);
  }
  return text;
}

/// What the job itself says of stages and of workers of networks, and is not to say.
std::vector<std::string> keys_taken_back(const PlannedLayout& layout, const JobSpec& job) {
  std::vector<std::string> keys;
  if (layout.shape != LayoutShape::kStages && job.layout.stages != 1) {
    keys.emplace_back("layout.stages=1");
  }
  for (const NetworkId id : job.networks.ids()) {
    const NetworkPlacement& network = job.layout.networks[id];
    if (layout.shape != LayoutShape::kStages && network.cuts) {
      keys.push_back(fmt::format("layout.cuts.{}=auto", job.networks[id].name));
    }
    if (layout.shape != LayoutShape::kApart && !network.workers.empty()) {
      keys.push_back(fmt::format("layout.{}=auto", job.networks[id].name));
    }
  }
  return keys;
}

/// Who has what.
std::vector<std::string> shape_keys(const PlannedLayout& layout, const JobSpec& job) {
  std::vector<std::string> keys;
  int first = 0;
  switch (layout.shape) {
    case LayoutShape::kApart:
      for (const NetworkId id : job.networks.ids()) {
        std::vector<int> own(static_cast<std::size_t>(layout.groups[static_cast<std::size_t>(id)]));
        std::iota(own.begin(), own.end(), first);
        first += static_cast<int>(own.size());
        keys.push_back(fmt::format("layout.{}=[{}]", job.networks[id].name, fmt::join(own, ",")));
      }
      return keys;
    case LayoutShape::kStages:
      keys.push_back(fmt::format("layout.stages={}", layout.stages));
      for (const NetworkId id : job.networks.ids()) {
        keys.push_back(fmt::format("layout.cuts.{}=[{}]", job.networks[id].name,
                                   fmt::join(layout.cuts[static_cast<std::size_t>(id)], ",")));
      }
      if (layout.placement != job.layout.placement) {
        keys.push_back(fmt::format("layout.placement={}", name_of(layout.placement)));
      }
      if (layout.schedule != job.layout.schedule) {
        keys.push_back(fmt::format("layout.schedule={}", name_of(layout.schedule)));
      }
      if (layout.in_flight != job.layout.in_flight) {
        keys.push_back(fmt::format("layout.in_flight={}", layout.in_flight));
      }
      return keys;
    case LayoutShape::kWhole:
      break;
  }
  return {fmt::format("layout.overlap={}", name_of(layout.overlap)),
          fmt::format("layout.transport={}", name_of(layout.transport))};
}

}  // namespace

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

std::vector<WorkerPlace> places_of(const PlannedLayout& layout, const Cluster& cluster,
                                   int num_microbatches) {
  std::vector<WorkerPlace> places;
  int host = -1;
  for (const int number : nodes_by_speed(cluster)) {
    const ClusterNode& node = cluster.nodes[static_cast<std::size_t>(number)];
    bool is_first = true;
    for (const int device : devices_by_speed(node)) {
      const auto worker = static_cast<int>(places.size());
      if (worker == layout.workers) {
        return places;
      }
      host += is_first || layout.transport == TransportKind::kMpi ? 1 : 0;
      is_first = false;
      places.push_back({.node = number,
                        .device = device,
                        .host = host,
                        .speed = node.speeds[static_cast<std::size_t>(device)],
                        .range = microbatch_range(num_microbatches, layout.workers, worker)});
    }
  }
  return places;
}

std::string describe(const PlannedLayout& layout) {
  const std::string workers =
      fmt::format("{} worker{}", layout.workers, layout.workers == 1 ? "" : "s");
  const std::string recompute = layout.recompute ? ", recompute" : "";
  switch (layout.shape) {
    case LayoutShape::kApart:
      return fmt::format("{}, networks apart {}{}", workers, fmt::join(layout.groups, " + "),
                         recompute);
    case LayoutShape::kStages:
      return fmt::format("{}, {}{}", workers, stages_text(layout), recompute);
    case LayoutShape::kWhole:
      break;
  }
  return fmt::format("{}, overlap {}, {}{}", workers, name_of(layout.overlap),
                     name_of(layout.transport), recompute);
}

std::vector<std::string> job_keys(const PlannedLayout& layout, const JobSpec& job) {
  std::vector<std::string> keys = shape_keys(layout, job);
  std::ranges::move(keys_taken_back(layout, job), std::back_inserter(keys));
  if (layout.recompute != job.layout.recompute) {
    keys.push_back(fmt::format("layout.recompute={}", layout.recompute));
  }
  return keys;
}

std::string run_arguments(const PlannedLayout& layout, const JobSpec& job) {
  return fmt::format("-n {} {}", layout.workers, fmt::join(job_keys(layout, job), " "));
}

}  // namespace gangway::plan
