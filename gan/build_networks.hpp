// SPDX-License-Identifier: MIT
// The networks of a job, made from their architecture (job/models/families.hpp). Called once where
// a process begins to train or to generate.
#pragma once

#include "gan/network.hpp"
#include "job/spec.hpp"

namespace gangway::gan {

struct NetworkPair {
  Network generator;
  Network discriminator;
};

/// Weights are zero until Network::initialise.
[[nodiscard]] Network build_network(const Architecture& architecture);

[[nodiscard]] NetworkPair build_networks(const JobSpec& job);

}  // namespace gangway::gan
