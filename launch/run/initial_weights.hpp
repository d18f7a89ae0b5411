// SPDX-License-Identifier: MIT
// What can be said of generator.weights and discriminator.weights without the networks themselves:
// asked before a run is made, and by --dry-run. The workers compare every name and shape.
#pragma once

#include "job/spec.hpp"

namespace gangway::launch {

/// @throws ConfigError naming the key: a file that is missing, damaged, not float32, or of another
/// number of parameters than the job's network.
void require_initial_weights(const JobSpec& spec);

}  // namespace gangway::launch
