// SPDX-License-Identifier: MIT
// What a profile says of chunks of networks, as the simulator of schedules with several stages
// reads it. Pure.
#pragma once

#include <vector>

#include "launch/plan/profiles/profile.hpp"
#include "pipeline/costs/costs.hpp"
#include "pipeline/phases.hpp"

namespace gangway::launch {

/// Of each block of each network, so that blocks together cost what whole passes were measured to.
[[nodiscard]] PerNetwork<std::vector<pipeline::WorkCosts>> block_work(
    const Profile& profile, const std::vector<pipeline::Phase>& phases,
    const PerNetwork<std::string>& names);

}  // namespace gangway::launch
