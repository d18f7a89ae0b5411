// SPDX-License-Identifier: MIT
// When each worker of networks that are cut does what, if all work took as long and a worker had
// two pieces of it a micro-batch: the order of one forward, one backward (PipeDream-flush,
// Narayanan et al., 2021) for passes of any shape. No third party.
#pragma once

#include <vector>

#include "pipeline/pass_share.hpp"

namespace gangway::pipeline {

/// From one micro-batch's moment to the next one's: a forward and a backward.
inline constexpr int kMomentsAMicrobatch = 2;

/// By node, at which moment of its micro-batch it is carried out, from 0: an application comes
/// behind those that it takes something of, on each worker nodes follow one another, and what a
/// worker receives for later nodes is there before the next one.
/// @param owners  of the pass's nodes
[[nodiscard]] std::vector<int> forward_moments(const Pass& pass,
                                               const std::vector<std::optional<int>>& owners);

/// The first moment of a micro-batch at which all forwards of the phase are over: its stations
/// (pipeline/stages/backward_stations.hpp) follow one a moment.
[[nodiscard]] int first_backward_moment(const Phase& phase, const PerNetwork<NetworkGroup>& groups);

}  // namespace gangway::pipeline
