// SPDX-License-Identifier: MIT
// What the command line does with a trained model in one process: `gangway sample`, `gangway
// evaluate` and others start gangway-model or gangway-model-cuda, so that `gangway` itself need not
// load LibTorch. Main thread.
#pragma once

#include <functional>

#include "launch/profile/profile_command.hpp"

namespace gangway::launch {

/// The program that computes: it knows one kind of device.
struct ModelProgram : ProfileProgram {
  std::function<void()> prepare = [] {};  ///< before anything computes on that device
};

/// The whole of main(). @return exit code
[[nodiscard]] int run_model_program(int argc, char** argv, const ModelProgram& program);

}  // namespace gangway::launch
