// SPDX-License-Identifier: MIT
// What a profile says of chunks of networks, as the simulator of schedules with several stages
// reads it. Pure.
#pragma once

#include <vector>

#include "launch/plan/machines/cluster.hpp"
#include "launch/plan/planned_layout.hpp"
#include "launch/plan/profiles/profile.hpp"
#include "pipeline/costs/costs.hpp"
#include "pipeline/layout/layout.hpp"
#include "pipeline/phases.hpp"

namespace gangway::launch {

/// Of each block of each network, so that blocks together cost what whole passes were measured to.
[[nodiscard]] PerNetwork<std::vector<pipeline::WorkCosts>> block_work(
    const Profile& profile, const std::vector<pipeline::Phase>& phases,
    const PerNetwork<std::string>& names);

struct StagedSetup {
  const Profile& profile;
  const Cluster& cluster;
  const PerNetwork<std::vector<pipeline::WorkCosts>>& blocks;
  const PerNetwork<std::string>& names;
  std::vector<WorkerPlace> places;  ///< of the workers of `layout`
  int copies = 1;  ///< of all that `layout` shows: replicas on other workers, which are alike
};

/// Of the chunks of `layout`, their exchanges among all copies, and its workers' links.
[[nodiscard]] pipeline::Costs staged_costs(const pipeline::Layout& layout,
                                           const StagedSetup& setup);

}  // namespace gangway::launch
