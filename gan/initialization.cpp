// SPDX-License-Identifier: MIT
#include "gan/initialization.hpp"

namespace gangway::gan {

void choose_initial_values(Network& network, const InitializationSpec& spec) {
  if (spec.kind == InitializationKind::kFamily) {
    return;
  }
  for (const Network::NamedParameter& named : network.parameters()) {
    Parameter& parameter = *named.parameter;
    const bool is_random =
        parameter.initial == Initial::kNormal || parameter.initial == Initial::kOrthogonal;
    if (!is_random || !is_map(parameter)) {
      continue;
    }
    parameter.initial =
        spec.kind == InitializationKind::kOrthogonal ? Initial::kOrthogonal : Initial::kNormal;
    const at::IntArrayRef shape = parameter.tensor.sizes();
    parameter.initial_scale = initial_scale_of(spec, {shape.data(), shape.size()});
  }
}

}  // namespace gangway::gan
