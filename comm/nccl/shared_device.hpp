// SPDX-License-Identifier: MIT
// Assigns GPUs to workers, and lets workers share a GPU. NCCL refuses two ranks of one host on one
// device, unless their NCCL_HOSTIDs differ. Between two hosts NCCL uses neither NVLink nor shared
// memory, so only the further workers of a GPU get another host. Lane thread, before NCCL.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "comm/transport/transport.hpp"

namespace gangway::comm {

/// Returns the PCI address of a device of this process, such as "0000:65:00.0", which identifies it
/// across processes. Device indices do not: each process counts its visible devices. Any thread.
/// @throws CommError if there is no such device.
[[nodiscard]] std::string bus_of(int device);

/// Returns, by worker, its device's index in its own list: the device with the fewest workers.
/// Workers that see the fewest devices choose first, then by worker index. So two workers share a
/// device only if neither could avoid it, for any visible devices (srun --gpu-bind).
/// @param seen  by worker: its devices; equal words: one device. @pre no list is empty
[[nodiscard]] std::vector<int> dealt_devices(const std::vector<std::vector<std::uint64_t>>& seen);

/// Returns the device for `worker`, of the `num_devices` that it sees. Every worker calls it.
/// @param exchange  returns the words of all workers, by worker
/// @throws CommError as `exchange` does
[[nodiscard]] int own_device(
    int num_devices, int worker,
    const std::function<std::vector<std::uint64_t>(std::uint64_t)>& exchange);

struct DeviceSharing {
  /// The value of NCCL_HOSTID. None for the first worker of each device: they form one host. The
  /// second workers of a machine's devices form another host, and so on.
  std::optional<std::string> pretended_host = {};
  bool is_any_shared = false;  ///< whether any two workers share a device: equal on all
};

/// Finds shared devices. Every worker calls it with its device.
/// @throws CommError naming a silent worker; EnvironmentError if there is no such device.
[[nodiscard]] DeviceSharing find_device_sharing(Transport& transport, int device,
                                                std::chrono::milliseconds timeout);

}  // namespace gangway::comm
