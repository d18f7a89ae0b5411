// SPDX-License-Identifier: MIT
// `gangway profile`, on the command line of gangway-model, or of gangway-model-cuda.
#pragma once

#include <string>
#include <vector>

#include "worker/step/compute_device.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's
class App;
}  // namespace CLI

namespace gangway::launch {

/// The program that measures: it knows one kind of device.
struct ProfileProgram {
  DeviceKind device = DeviceKind::kCpu;
  worker::DeviceMaker make;
  std::vector<std::string> typed;  ///< its arguments, for that of another device
};

/// @param code  the exit code, once the command has been carried out
void add_profile_command(CLI::App& app, const ProfileProgram& program, int& code);

}  // namespace gangway::launch
