// SPDX-License-Identifier: MIT
#include "job/blocks/python_spec.hpp"

#include <utility>

#include "job/blocks/transfer_specs.hpp"

namespace gangway {
BlockTensors tensors_of(const PythonSpec& spec) {
  BlockPorts ports{
      {}, spec.levels > 0 ? level_names(spec.levels) : std::vector<std::string>{"features"}};
  for (const PythonInput& input : spec.inputs) {
    ports.inputs.push_back(input.name);
  }
  return {.ports = std::move(ports)};
}

}  // namespace gangway
