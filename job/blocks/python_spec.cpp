// SPDX-License-Identifier: MIT
#include "job/blocks/python_spec.hpp"

#include "job/blocks/transfer_specs.hpp"

namespace gangway {
BlockPorts ports_of(const PythonSpec& spec) {
  BlockPorts ports{
      {}, spec.levels > 0 ? level_names(spec.levels) : std::vector<std::string>{"features"}};
  for (const PythonInput& input : spec.inputs) {
    ports.inputs.push_back(input.name);
  }
  return ports;
}

std::vector<ParameterSpec> parameters_of(const PythonSpec&) { return {}; }

}  // namespace gangway
