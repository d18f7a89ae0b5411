// SPDX-License-Identifier: MIT
#include "launch/run/initial_weights.hpp"

#include <string>

#include "checkpoint/format/weights_file.hpp"

namespace gangway::launch {

void require_initial_weights(const JobSpec& spec) {
  const PerNetwork<Architecture> networks = spec.architectures();
  for (const NetworkId id : networks.ids()) {
    const NetworkSpec& network = spec.networks[id];
    if (!network.weights.empty()) {
      const checkpoint::InitialWeights weights(network.name + ".weights", network.weights);
      if (python_in(networks[id]) == nullptr) {  // only LibTorch knows its parameters
        weights.require_parameters(num_parameters(networks[id]), statistic_names(networks[id]));
      }
      weights.require_finite();
    }
  }
}

}  // namespace gangway::launch
