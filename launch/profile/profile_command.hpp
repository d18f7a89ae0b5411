// SPDX-License-Identifier: MIT
// `gangway profile`, on the command line of gangway-model.
#pragma once

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's
class App;
}  // namespace CLI

namespace gangway::launch {

/// @param code  the exit code, once the command has been carried out
void add_profile_command(CLI::App& app, int& code);

}  // namespace gangway::launch
