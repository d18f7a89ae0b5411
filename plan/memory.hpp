// SPDX-License-Identifier: MIT
// The memory of a worker under a layout, from what a profile has measured. Pure.
#pragma once

#include <cstdint>

#include "plan/partial_sums.hpp"
#include "plan/profiles/profile.hpp"

namespace gangway::plan {

/// Of a worker's program beside what a profile's process has: Open MPI, what its threads allocate,
/// the first pictures. 16 MiB were measured of points, 28 of a DCGAN-32 (Open MPI 4.1.4): the
/// larger one, so that nothing is said to fit that does not.
inline constexpr std::int64_t kWorkerProgramBytes = 28LL << 20U;

/// Whose arenas are counted.
struct ArenaShare {
  PartialSums sums;
  int workers = 1;           ///< that share moments and averages
  int partials_of_host = 1;  ///< of all workers that share memory: each reads its slices of them
  bool agrees = false;       ///< on a norm: the mean gradient is kept whole
};

/// Resident bytes of the arenas of `network`: weights, partial sums, own slices of moments and
/// average, and the slices of others' sums that are read in shared memory.
[[nodiscard]] std::int64_t arena_bytes(const NetworkCost& network, const ArenaShare& share);

/// Of what each micro-batch keeps on a worker from step to step or until its update: real examples,
/// images in pools, and where fakes are used again all that made them. What the profile's own
/// micro-batches kept is not among it.
/// @param local  micro-batches of the worker
[[nodiscard]] std::int64_t kept_bytes(const JobSpec& job, const Profile& profile, int local);

/// Of a worker's snapshots in its host's memory: its own slices of `network`'s weights, moments and
/// average, in each of two slots, of three where snapshots are taken beside checkpoints
/// (worker/state/snapshot_service.cpp). Of a GPU's memory nothing.
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
  /// What its device must have: allocators differ, and runs were seen to need 6 % more than their
  /// prediction (docs/measurements.md).
  [[nodiscard]] std::int64_t needed_bytes() const {
    constexpr std::int64_t kSpareShare = 16;
    return total_bytes() + total_bytes() / kSpareShare;
  }
  bool operator==(const WorkerMemory&) const = default;
};

/// Of a worker that holds all networks. With layout.recompute it is no less here, to be on the safe
/// side: how much less depends on which blocks have most (docs/memory.md).
/// @param local  as above
[[nodiscard]] WorkerMemory worker_memory(const JobSpec& job, const Profile& profile,
                                         const ArenaShare& share, int local);

}  // namespace gangway::plan
