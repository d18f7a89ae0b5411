// SPDX-License-Identifier: MIT
// Formats a profile as text for people. Pure.
#pragma once

#include <string>
#include <vector>

#include "pipeline/phases.hpp"
#include "plan/profiles/profile.hpp"

namespace gangway::plan {

/// Sum of the profiled block times of one application of a network: node `node` of `pass`. Includes
/// the backward if a gradient goes through the application.
struct SumOfBlocks {
  double forward_seconds = 0.0;
  double backward_seconds = 0.0;
};
[[nodiscard]] SumOfBlocks sum_of_blocks(const Profile& profile, const std::string& network,
                                        const pipeline::Phase& phase, const pipeline::Pass& pass,
                                        int node);

/// Returns tables of blocks, passes and networks. Every line ends with a newline.
[[nodiscard]] std::string profile_text(const Profile& profile,
                                       const std::vector<pipeline::Phase>& phases,
                                       const JobSpec& job);

}  // namespace gangway::plan
