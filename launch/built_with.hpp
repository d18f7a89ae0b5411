// SPDX-License-Identifier: MIT
// What this build was made with, for `gangway doctor`. Apart, so that a part that is switched on
// later (cmake -DGANGWAY_WITH_…) compiles this one file again and none that asks it. Any thread.
#pragma once

#include <string_view>

namespace gangway::launch {

struct BuiltWith {
  std::string_view libtorch_root;  ///< folder of the wheel; empty: built without
  std::string_view cuda_toolkit;   ///< versions; empty: built without
  std::string_view protobuf;
  std::string_view grpc;
};

[[nodiscard]] BuiltWith built_with();

}  // namespace gangway::launch
