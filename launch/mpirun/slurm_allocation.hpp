// SPDX-License-Identifier: MIT
// What Slurm has given this job: hosts, and how many workers each may have. Asked by `gangway run`,
// which then needs no hostfile. Pure: reads the variables that Slurm sets and calls none of its
// commands, which a container may lack.
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
  std::string job;    ///< its number
  std::string nodes;  ///< as Slurm writes them
  /// In Slurm's order, with slots for workers; the coordinator's place is no slot.
  std::vector<Host> hosts;
  /// What the slots follow from: "tasks", one of which is the coordinator, or else "GPUs" or
  /// "cores".
  std::string_view counted;
};

/// Of "gpu[01-03,7]-ib,login" the names. @throws EnvironmentError where it is no list.
[[nodiscard]] std::vector<std::string> expand_host_list(std::string_view list);

/// Of "4(x2),3" the numbers 4, 4, 3. @throws EnvironmentError where it is no list.
[[nodiscard]] std::vector<int> expand_counts(std::string_view counts);

/// Nothing outside an allocation.
/// @param device of the job: where no tasks were asked for, GPUs count for one, cores for the
/// other.
/// @throws EnvironmentError, one line, where srun has started several of this command, or Slurm's
/// variables do not fit together.
[[nodiscard]] std::optional<SlurmAllocation> find_slurm_allocation(const Environment& environment,
                                                                   DeviceKind device);

/// One line: what was found, and how many workers follow.
[[nodiscard]] std::string describe(const SlurmAllocation& allocation, int workers);

}  // namespace gangway::launch
