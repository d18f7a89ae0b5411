// SPDX-License-Identifier: MIT
// Predicts the memory of a worker under a layout from the profile. Pure.
#pragma once

#include <cstdint>

#include "plan/partial_sums.hpp"
#include "plan/profiles/profile.hpp"

namespace gangway::plan {

/// Bytes of a worker's program that a profile's process does not have: Open MPI, threads, the first
/// pictures. Measured with Open MPI 4.1.4: 16 MiB with points, 28 MiB with a DCGAN-32. The value is
/// the larger one, to be on the safe side.
inline constexpr std::int64_t kWorkerProgramBytes = 28LL << 20U;

/// The share of one worker in the arenas of its networks.
struct ArenaShare {
  PartialSums sums;
  int workers = 1;           ///< that split moments and averages into slices
  int partials_of_host = 1;  ///< partial sums of the host's workers: each worker reads its slices
  bool agrees = false;       ///< whether workers agree on a norm: each keeps the mean gradient
};

/// Returns the resident bytes of the arenas of `network`: weights, partial sums, own slices of
/// moments and average, and slices of other workers' sums, read in shared memory.
[[nodiscard]] std::int64_t arena_bytes(const NetworkCost& network, const ArenaShare& share);

/// Returns the bytes that the micro-batches of a worker keep from step to step or until an update.
/// They hold real examples, image pools, and with reused fakes all tensors that made them. Excludes
/// the bytes that the profile's own micro-batches kept.
/// @param local  number of the worker's micro-batches
[[nodiscard]] std::int64_t kept_bytes(const JobSpec& job, const Profile& profile, int local);

/// Returns the bytes of a worker's snapshots in host memory: its slices of weights, moments and
/// average. There are two slots, or three if the job takes snapshots beside checkpoints
/// (worker/state/snapshot_service.cpp). Returns 0 if the job trains on GPUs.
/// @param workers  that share the slices
[[nodiscard]] std::int64_t snapshot_bytes(const JobSpec& job, const NetworkCost& network,
                                          int workers);

struct WorkerMemory {
  std::int64_t process_bytes = 0;
  std::int64_t arenas_bytes = 0;
  std::int64_t snapshots_bytes = 0;
  std::int64_t working_bytes = 0;
  std::int64_t other_bytes = 0;
  [[nodiscard]] std::int64_t total_bytes() const {
    return process_bytes + arenas_bytes + snapshots_bytes + working_bytes + other_bytes;
  }
  /// Returns the bytes that the device must have: 1/16 more than the total, because allocators
  /// differ and runs needed 6 % more than predicted (docs/measurements.md).
  [[nodiscard]] std::int64_t needed_bytes() const {
    constexpr std::int64_t kSpareShare = 16;
    return total_bytes() + total_bytes() / kSpareShare;
  }
  bool operator==(const WorkerMemory&) const = default;
};

/// Returns the memory of a worker that holds all networks. Ignores what layout.recompute saves,
/// because that depends on which blocks keep most (docs/memory.md).
/// @param local  number of the worker's micro-batches
[[nodiscard]] WorkerMemory worker_memory(const JobSpec& job, const Profile& profile,
                                         const ArenaShare& share, int local);

}  // namespace gangway::plan
