// SPDX-License-Identifier: MIT
// What the environment says to the gangway command, and its program's place. Called at the start.
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

/// Names of variables that change what ranks on other hosts do.
[[nodiscard]] std::vector<std::string> exported_variables(const Environment& environment);

/// That Open MPI is to use between hosts, as on_networks() takes them; empty: all.
[[nodiscard]] std::string networks_of_the_hosts(const Environment& environment);

/// mpirun refuses root unless these variables of this process say otherwise; no other user needs
/// them.
void let_root_use_mpirun();

/// The folder of this program, where its siblings lie.
[[nodiscard]] std::filesystem::path program_folder();

/// Weights, pictures and scripts that come with the programs: beside them where they are installed,
/// else in the checkout that they were built from.
[[nodiscard]] std::filesystem::path share_folder();

/// That this process may use, as NVIDIA's driver counts them; asked once.
[[nodiscard]] int num_gpus();
/// 0 where this build has no program for them.
[[nodiscard]] int usable_gpus();

/// Under --enable-recovery mpirun keeps silent about a rank that cannot start, and the others would
/// wait for it. @throws EnvironmentError when the program of the coordinator, or that of workers on
/// such devices, is missing.
void require_programs(DeviceKind device);

/// Becomes another of Gangway's programs.
/// @param name  its argv[0], for commands that it prints; empty: its path
/// @throws EnvironmentError when it is not there
[[noreturn]] void become(const std::string& program, const std::vector<std::string>& arguments,
                         const std::string& name = {});
/// Becomes `python -m gangway.tools WORDS` with the package beside the programs. The interpreter is
/// that of GANGWAY_PYTHON, the checkout's .venv, VIRTUAL_ENV, or python3.
/// @param typed  the program's name, for commands that are printed, and WORDS
/// @throws EnvironmentError when it cannot be started
[[noreturn]] void become_python(const std::vector<std::string>& typed,
                                const Environment& environment);

}  // namespace gangway::launch
