// SPDX-License-Identifier: MIT
#include "job/blocks/library_spec.hpp"

namespace gangway {

BlockTensors tensors_of(const LibrarySpec& spec) {
  return {.ports = spec.ports, .parameters = spec.parameters, .statistics = spec.statistics};
}

}  // namespace gangway
