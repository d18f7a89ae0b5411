// SPDX-License-Identifier: MIT
// Adds `gangway profile` to gangway-model and gangway-model-cuda.
#pragma once

#include <string>
#include <vector>

#include "worker/step/compute_device.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's
class App;
}  // namespace CLI

namespace gangway::launch {

/// The measuring program, for one kind of device.
struct ProfileProgram {
  DeviceKind device = DeviceKind::kCpu;
  worker::DeviceMaker make;
  std::vector<std::string> typed;  ///< its arguments, passed to the program of another device
};

/// @param code  receives the exit code of the command
void add_profile_command(CLI::App& app, const ProfileProgram& program, int& code);

}  // namespace gangway::launch
