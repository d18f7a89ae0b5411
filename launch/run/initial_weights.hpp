// SPDX-License-Identifier: MIT
// Checks generator.weights and discriminator.weights without building the networks. Called before a
// run is made, and by --dry-run. The workers compare every name and shape.
#pragma once

#include "job/spec.hpp"

namespace gangway::launch {

/// @throws ConfigError naming the key of a file that is missing, damaged, not float32, or has
/// another number of parameters than the job's network
void require_initial_weights(const JobSpec& spec);

}  // namespace gangway::launch
