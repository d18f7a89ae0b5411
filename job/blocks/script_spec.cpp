// SPDX-License-Identifier: MIT
#include "job/blocks/script_spec.hpp"

namespace gangway {
BlockPorts ports_of(const ScriptSpec& spec) {
  BlockPorts ports{{}, {"features"}};
  for (const ScriptInput& input : spec.inputs) {
    ports.inputs.push_back(input.name);
  }
  return ports;
}

std::vector<ParameterSpec> parameters_of(const ScriptSpec&) { return {}; }

}  // namespace gangway
