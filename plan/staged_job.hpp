// SPDX-License-Identifier: MIT
// A job under a layout that a plan considers, as its workers would set it up: the workers of each
// network, the phases cut where the layout cuts networks, and the very lists of instructions that
// workers would run. Pure.
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
  std::vector<pipeline::Phase> phases;  ///< cut
};

/// @param phases  of the job's recipe, completed, not cut
/// @throws ConfigError as resolve_layout and pipeline::cut_phases
[[nodiscard]] StagedJob staged_job(const JobSpec& job, const std::vector<pipeline::Phase>& phases,
                                   const Candidate& candidate);

using Lists = std::vector<std::vector<pipeline::Instruction>>;  // by worker

/// Of each of `steps`. @throws ConfigError as pipeline::PassShares
[[nodiscard]] std::vector<Lists> lists_of_steps(const StagedJob& job,
                                                const std::vector<std::int64_t>& steps);

/// Lists of a step of each of several kinds: without lazy phases, and by lazy phase with it alone.
struct StepLists {
  struct Lazy {
    int interval = 1;  ///< of the phase
    Lists lists;
  };
  Lists usual;
  std::vector<Lazy> lazy;
};
[[nodiscard]] StepLists step_lists(const StagedJob& job);

}  // namespace gangway::plan
