// SPDX-License-Identifier: MIT
// Gives a job's auto keys the values for the device that trains it.
//
// Keys that change numbers (numerics.precision, numerics.memory_format) are settled once, before
// anything hashes the job: a resumed run keeps the values that it began with. Keys of the layout
// (numerics.cuda_graph, layout.nccl_ctas, layout.buckets) are settled at each start. Called by the
// coordinator, and by `gangway run` for its estimates and the dry run. Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "job/devices/device_facts.hpp"
#include "job/spec.hpp"

namespace gangway {

/// Returns whether a key that changes numbers still has auto.
[[nodiscard]] bool has_open_numbers(const JobSpec& job);

/// Replaces auto in such keys: by the values in `before`, the job as the run began, else by those
/// of `device`.
/// @return a line for each key that had auto, with its value and the reason
[[nodiscard]] std::vector<std::string> settle_numbers(JobSpec& job,
                                                      const std::optional<JobSpec>& before,
                                                      const DeviceFacts& device);

/// Replaces auto in keys of the layout of a job on GPUs, where `device` has a value.
/// @return as settle_numbers. @throws ConfigError as resolve_layout
[[nodiscard]] std::vector<std::string> settle_layout(JobSpec& job, int workers,
                                                     const DeviceFacts& device);

}  // namespace gangway
