// SPDX-License-Identifier: MIT
#include "launch/run/initial_weights.hpp"

#include "checkpoint/format/weights_file.hpp"
#include "job/models/families.hpp"

namespace gangway::launch {

void require_initial_weights(const JobSpec& spec) {
  const Architectures networks = architectures_of(spec.settled_model());
  if (!spec.generator.weights.empty()) {
    checkpoint::InitialWeights("generator.weights", spec.generator.weights)
        .require_parameters(num_parameters(networks.generator));
  }
  if (!spec.discriminator.weights.empty()) {
    checkpoint::InitialWeights("discriminator.weights", spec.discriminator.weights)
        .require_parameters(num_parameters(networks.discriminator));
  }
}

}  // namespace gangway::launch
