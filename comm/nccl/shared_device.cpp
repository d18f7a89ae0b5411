// SPDX-License-Identifier: MIT
#include "comm/nccl/shared_device.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <set>

#include <fmt/format.h>
#include <xxhash.h>

#include "comm/cuda/cuda_handles.hpp"
#include "comm/host/exchange_words.hpp"

namespace gangway::comm {
namespace {

std::uint64_t hash_of(const std::string& text) { return XXH3_64bits(text.data(), text.size()); }

/// Of the machine, whatever containers it is divided into.
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
