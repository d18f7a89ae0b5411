// SPDX-License-Identifier: MIT
// Asks NVIDIA's driver for the GPUs that this process may use. Loads the driver's library alone,
// and makes no CUDA context. Main thread.
#pragma once

#include <vector>

#include "job/devices/device_facts.hpp"
#include "job/spec.hpp"

namespace gangway::launch {

/// Returns the GPUs, queried once: CUDA_VISIBLE_DEVICES, control groups and MIG limit them.
[[nodiscard]] const std::vector<Gpu>& gpus();
[[nodiscard]] int num_gpus();
/// Like num_gpus(), but 0 if this build has no program for GPUs.
[[nodiscard]] int usable_gpus();

/// Returns facts of the devices that a job on this kind of device has. Assumes that all devices of
/// all hosts equal this host's first.
/// @throws ConfigError for a damaged file in share/devices
[[nodiscard]] DeviceFacts facts_of_device(DeviceKind kind);

}  // namespace gangway::launch
