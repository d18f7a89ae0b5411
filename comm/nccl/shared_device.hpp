// SPDX-License-Identifier: MIT
// Workers that share a GPU. NCCL refuses two ranks of one host on one device, but takes them for
// ranks of two hosts where their NCCL_HOSTID differs; between two hosts it uses neither NVLink nor
// shared memory, so that only those who must pretend. Lane thread, before NCCL's first call.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "comm/transport/transport.hpp"

namespace gangway::comm {

/// The PCI address of a device of this process, as "0000:65:00.0": what NCCL and the driver tell
/// devices apart by. Indices are no use: each process counts those that it sees. Any thread.
/// @throws CommError where there is no such device.
[[nodiscard]] std::string bus_of(int device);

/// By worker, the place of its device in its own list: the one that fewest workers have. Workers
/// that see fewest devices choose first, then the first workers: so no two share a device that one
/// of them could leave, whatever part of a machine each sees (srun --gpu-bind).
/// @param seen  by worker, the devices that it sees; equal words are one device. @pre none is empty
[[nodiscard]] std::vector<int> dealt_devices(const std::vector<std::vector<std::uint64_t>>& seen);

/// The device that `worker` computes on, of `num_devices` that it sees. Every worker calls it.
/// @param exchange  gives the words of all workers, by worker
/// @throws CommError as `exchange`
[[nodiscard]] int own_device(
    int num_devices, int worker,
    const std::function<std::vector<std::uint64_t>(std::uint64_t)>& exchange);

struct DeviceSharing {
  /// For NCCL_HOSTID. None for the first worker of each device: these are one host, whatever number
  /// of devices each process sees. The second workers of the devices of a machine are another host,
  /// and so on.
  std::optional<std::string> pretended_host = {};
  bool is_any_shared = false;  ///< whether any two workers share one: equal on all
};

/// Every worker calls it with the device that it computes on.
/// @throws CommError naming a silent worker; EnvironmentError where there is no such device.
[[nodiscard]] DeviceSharing find_device_sharing(Transport& transport, int device,
                                                std::chrono::milliseconds timeout);

}  // namespace gangway::comm
