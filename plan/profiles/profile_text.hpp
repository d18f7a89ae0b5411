// SPDX-License-Identifier: MIT
// A profile as people read it. Pure.
#pragma once

#include <string>
#include <vector>

#include "pipeline/phases.hpp"
#include "plan/profiles/profile.hpp"

namespace gangway::plan {

/// What the blocks of `pass`'s application `node` cost together, by the profile: its forward, and
/// its backward where a gradient goes through it.
struct SumOfBlocks {
  double forward_seconds = 0.0;
  double backward_seconds = 0.0;
};
[[nodiscard]] SumOfBlocks sum_of_blocks(const Profile& profile, const std::string& network,
                                        const pipeline::Phase& phase, const pipeline::Pass& pass,
                                        int node);

/// Tables of blocks, passes and networks, each line ended.
[[nodiscard]] std::string profile_text(const Profile& profile,
                                       const std::vector<pipeline::Phase>& phases,
                                       const JobSpec& job);

}  // namespace gangway::plan
