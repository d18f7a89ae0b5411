// SPDX-License-Identifier: MIT
#include "launch/built_with.hpp"

namespace gangway::launch {

BuiltWith built_with() {
  return {.libtorch_root = GANGWAY_LIBTORCH_ROOT,
          .cuda_toolkit = GANGWAY_CUDA_VERSION,
          .protobuf = GANGWAY_PROTOBUF_VERSION,
          .grpc = GANGWAY_GRPC_VERSION};
}

}  // namespace gangway::launch
