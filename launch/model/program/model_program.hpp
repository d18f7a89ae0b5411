// SPDX-License-Identifier: MIT
// Command line of gangway-model and gangway-model-cuda. `gangway sample`, `gangway evaluate` and
// others start these programs, so that `gangway` need not load LibTorch. Main thread.
#pragma once

#include <functional>

#include "launch/profile/profile_command.hpp"

namespace gangway::launch {

/// The computing program, for one kind of device.
struct ModelProgram : ProfileProgram {
  std::function<void()> prepare = [] {};  ///< called before anything computes on the device
};

/// Runs all of main(). @return exit code
[[nodiscard]] int run_model_program(int argc, char** argv, const ModelProgram& program);

}  // namespace gangway::launch
