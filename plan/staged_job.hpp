// SPDX-License-Identifier: MIT
// Sets up a job under a candidate layout as its workers would. Sets the workers of each network,
// the phases of cut networks, and the lists of instructions that the workers would run. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "job/layout/layout.hpp"
#include "pipeline/cut_phases.hpp"
#include "pipeline/phases.hpp"
#include "pipeline/schedule.hpp"
#include "plan/candidate.hpp"

namespace gangway::plan {

struct StagedJob {
  JobSpec job;
  int workers = 1;
  Layout layout;
  PerNetwork<pipeline::NetworkCuts> cuts;
  std::vector<pipeline::Phase> phases;  ///< with the networks cut
};

/// @param phases  of the job's recipe, completed, not cut
/// @throws ConfigError like resolve_layout and pipeline::cut_phases
[[nodiscard]] StagedJob staged_job(const JobSpec& job, const std::vector<pipeline::Phase>& phases,
                                   const Candidate& candidate);

using Lists = std::vector<std::vector<pipeline::Instruction>>;  // by worker

/// Returns the lists of each of `steps`. @throws ConfigError like pipeline::PassShares
[[nodiscard]] std::vector<Lists> lists_of_steps(const StagedJob& job,
                                                const std::vector<std::int64_t>& steps);

/// Lists of a step without lazy phases, and for each lazy phase of a step with it alone.
struct StepLists {
  struct Lazy {
    int interval = 1;  ///< steps between two runs of the phase
    Lists lists;
  };
  Lists usual;
  std::vector<Lazy> lazy;
};
[[nodiscard]] StepLists step_lists(const StagedJob& job);

}  // namespace gangway::plan
