// SPDX-License-Identifier: MIT
#include "comm/nccl/shared_device.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <xxhash.h>

#include "comm/cuda/cuda_handles.hpp"
#include "comm/host/exchange_words.hpp"

namespace gangway::comm {
namespace {

std::uint64_t hash_of(const std::string& text) { return XXH3_64bits(text.data(), text.size()); }

/// Identifies the machine, across its containers.
std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

std::string bus_of(int device) {
  std::array<char, 32> name{};
  check(cudaDeviceGetPCIBusId(name.data(), static_cast<int>(name.size()), device),
        "asking for the GPU's PCI bus");
  return name.data();
}

std::vector<int> dealt_devices(const std::vector<std::vector<std::uint64_t>>& seen) {
  std::vector<std::size_t> order(seen.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t worker) { return seen[worker].size(); });
  std::map<std::uint64_t, int> workers_of;
  std::vector<int> places(seen.size());
  for (const std::size_t worker : order) {
    const auto freest = std::ranges::min_element(
        seen[worker], {}, [&](std::uint64_t device) { return workers_of[device]; });
    ++workers_of[*freest];
    places[worker] = static_cast<int>(freest - seen[worker].begin());
  }
  return places;
}

int own_device(int num_devices, int worker,
               const std::function<std::vector<std::uint64_t>(std::uint64_t)>& exchange) {
  const std::vector<std::uint64_t> counts = exchange(static_cast<std::uint64_t>(num_devices));
  const std::string machine = boot_id();
  std::vector<std::vector<std::uint64_t>> seen(counts.size());
  for (std::size_t place = 0; place < *std::ranges::max_element(counts); ++place) {
    const int device = static_cast<int>(place);
    const auto words = exchange(device < num_devices ? hash_of(machine + bus_of(device)) : 0);
    for (std::size_t other = 0; other < seen.size(); ++other) {
      if (place < counts[other]) {
        seen[other].push_back(words[other]);
      }
    }
  }
  return dealt_devices(seen)[static_cast<std::size_t>(worker)];
}

DeviceSharing find_device_sharing(Transport& transport, int device,
                                  std::chrono::milliseconds timeout) {
  const std::string machine = boot_id();
  const std::uint64_t own = hash_of(machine + bus_of(device));
  const std::vector<std::uint64_t> devices =
      exchange_words(transport, own, "which workers share a GPU", timeout);
  const auto before = std::count(devices.begin(), devices.begin() + transport.worker(), own);
  DeviceSharing sharing{.is_any_shared =
                            std::set(devices.begin(), devices.end()).size() < devices.size()};
  if (before > 0) {
    sharing.pretended_host = fmt::format("gangway-{:016x}-{}", hash_of(machine), before);
  }
  return sharing;
}

}  // namespace gangway::comm
