// SPDX-License-Identifier: MIT
// Reads hosts and worker slots of a Slurm allocation, so that `gangway run` needs no hostfile.
// Called by `gangway run`. Pure: reads Slurm's variables and calls none of its commands, which a
// container may lack.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "job/spec.hpp"
#include "launch/mpirun/hostfile.hpp"
#include "launch/process/environment.hpp"

namespace gangway::launch {

struct SlurmAllocation {
  std::string job;    ///< Slurm's job number
  std::string nodes;  ///< as Slurm writes them
  /// In Slurm's order, with slots for workers; excludes the coordinator's place.
  std::vector<Host> hosts;
  /// Basis of the slots: "tasks" (one is the coordinator), or else "GPUs" or "cores".
  std::string_view counted;
};

/// Expands "gpu[01-03,7]-ib,login" to names. @throws EnvironmentError if it is no such list
[[nodiscard]] std::vector<std::string> expand_host_list(std::string_view list);

/// Expands "4(x2),3" to 4, 4, 3. @throws EnvironmentError if it is no such list
[[nodiscard]] std::vector<int> expand_counts(std::string_view counts);

/// Returns the allocation; nullopt outside an allocation.
/// @param device  of the job: without requested tasks, counts GPUs for a GPU job, else cores
/// @throws EnvironmentError of one line if srun has started several copies of this command, or if
/// Slurm's variables contradict each other
[[nodiscard]] std::optional<SlurmAllocation> find_slurm_allocation(const Environment& environment,
                                                                   DeviceKind device);

/// Returns one line: the allocation, and the number of workers.
[[nodiscard]] std::string describe(const SlurmAllocation& allocation, int workers);

}  // namespace gangway::launch
