// SPDX-License-Identifier: MIT
#include "launch/run/initial_weights.hpp"

#include "checkpoint/format/weights_file.hpp"
#include "job/estimate/parameter_counts.hpp"

namespace gangway::launch {

void require_initial_weights(const JobSpec& spec) {
  const ParameterCounts counts = count_parameters(spec.model);
  if (!spec.generator.weights.empty()) {
    checkpoint::InitialWeights("generator.weights", spec.generator.weights)
        .require_parameters(counts.generator);
  }
  if (!spec.discriminator.weights.empty()) {
    checkpoint::InitialWeights("discriminator.weights", spec.discriminator.weights)
        .require_parameters(counts.discriminator);
  }
}

}  // namespace gangway::launch
