// SPDX-License-Identifier: MIT
#include "launch/plan/planned_layout.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "job/choices.hpp"

namespace gangway::launch {
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
  switch (layout.shape) {
    case LayoutShape::kApart:
      return fmt::format("{}, networks apart {}", workers, fmt::join(layout.groups, " + "));
    case LayoutShape::kStages: {
      std::vector<std::string> cuts;
      for (const std::vector<int>& of : layout.cuts) {
        cuts.push_back(of.empty() ? "-" : fmt::format("{}", fmt::join(of, ",")));
      }
      return fmt::format("{}, {} x {} stages, cuts {}", workers, layout.workers / layout.stages,
                         layout.stages, fmt::join(cuts, " | "));
    }
    case LayoutShape::kWhole:
      break;
  }
  return fmt::format("{}, overlap {}, {}", workers, name_of(layout.overlap),
                     name_of(layout.transport));
}

std::vector<std::string> job_keys(const PlannedLayout& layout,
                                  const PerNetwork<std::string>& networks) {
  std::vector<std::string> keys;
  switch (layout.shape) {
    case LayoutShape::kApart: {
      int first = 0;
      for (const NetworkId id : networks.ids()) {
        std::vector<int> own(static_cast<std::size_t>(layout.groups[static_cast<std::size_t>(id)]));
        std::iota(own.begin(), own.end(), first);
        first += static_cast<int>(own.size());
        keys.push_back(fmt::format("layout.{}=[{}]", networks[id], fmt::join(own, ",")));
      }
      return keys;
    }
    case LayoutShape::kStages:
      keys.push_back(fmt::format("layout.stages={}", layout.stages));
      for (const NetworkId id : networks.ids()) {
        keys.push_back(fmt::format("layout.cuts.{}=[{}]", networks[id],
                                   fmt::join(layout.cuts[static_cast<std::size_t>(id)], ",")));
      }
      return keys;
    case LayoutShape::kWhole:
      break;
  }
  return {fmt::format("layout.overlap={}", name_of(layout.overlap)),
          fmt::format("layout.transport={}", name_of(layout.transport))};
}

std::string run_arguments(const PlannedLayout& layout, const PerNetwork<std::string>& networks) {
  return fmt::format("-n {} {}", layout.workers, fmt::join(job_keys(layout, networks), " "));
}

}  // namespace gangway::launch
