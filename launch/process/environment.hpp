// SPDX-License-Identifier: MIT
// Reads the gangway command's environment and finds the place of its program. Called at the start.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/environment.hpp"
#include "job/spec.hpp"

namespace gangway::launch {

[[nodiscard]] std::optional<std::string> find_variable(const Environment& environment,
                                                       const std::string& name);

/// Returns the names of variables that affect ranks on other hosts.
[[nodiscard]] std::vector<std::string> exported_variables(const Environment& environment);

/// Returns the networks for Open MPI between hosts, for on_networks(); empty: all.
[[nodiscard]] std::string networks_of_the_hosts(const Environment& environment);

/// Sets the variables without which mpirun refuses to run as root.
void let_root_use_mpirun();

/// Returns the folder of this program and its sibling programs.
[[nodiscard]] std::filesystem::path program_folder();

/// Returns the folder of weights, pictures and scripts: beside installed programs, else in the
/// checkout that they were built from.
[[nodiscard]] std::filesystem::path share_folder();

/// Checks that the programs of the coordinator and of workers on such devices exist. Under
/// --enable-recovery mpirun does not report a rank that cannot start, and the other ranks would
/// wait for it. @throws EnvironmentError if a program is missing
void require_programs(DeviceKind device);

/// Replaces this process by another of Gangway's programs.
/// @param name  its argv[0], for commands that it prints; empty: its path
/// @throws EnvironmentError if the program does not exist
[[noreturn]] void become(const std::string& program, const std::vector<std::string>& arguments,
                         const std::string& name = {});
/// Replaces this process by `python -P -m gangway.tools WORDS` with the package beside the
/// programs. The interpreter is that of GANGWAY_PYTHON, the checkout's .venv, VIRTUAL_ENV, or
/// python3.
/// @param typed  the program's name, for printed commands, and WORDS
/// @throws EnvironmentError if it cannot be started
[[noreturn]] void become_python(const std::vector<std::string>& typed,
                                const Environment& environment);

}  // namespace gangway::launch
