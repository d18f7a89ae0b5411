// SPDX-License-Identifier: MIT
// Workers that share a GPU. NCCL refuses two ranks of one host on one device, but takes them for
// ranks of two hosts where their NCCL_HOSTID differs; between two hosts it uses neither NVLink nor
// shared memory, so that only those who must pretend. Lane thread, before NCCL's first call.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "comm/transport/transport.hpp"

namespace gangway::comm {

/// The PCI address of a device of this process, as "0000:65:00.0": what NCCL and the driver tell
/// devices apart by. Indices are no use: each process counts those that it sees. Any thread.
/// @throws CommError where there is no such device.
[[nodiscard]] std::string bus_of(int device);

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
