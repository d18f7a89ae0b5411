// SPDX-License-Identifier: MIT
#include "launch/plan/planned_layout.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

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
  return fmt::format("{} worker{}, overlap {}, {}", layout.workers,
                     layout.workers == 1 ? "" : "s", name_of(layout.overlap),
                     name_of(layout.transport));
}

std::string run_arguments(const PlannedLayout& layout) {
  return fmt::format("-n {} layout.overlap={} layout.transport={}", layout.workers,
                     name_of(layout.overlap), name_of(layout.transport));
}

}  // namespace gangway::launch
