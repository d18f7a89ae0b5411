// SPDX-License-Identifier: MIT
// `gangway compare`: runs beside one another, as text and as one file. Called by
// launch/commands.cpp.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "launch/process/command_line.hpp"

namespace gangway::launch {

void add_compare_command(CLI::App& app, CommandLine& line);

/// Two tables: what came of each run, and the keys in which their jobs differ.
/// @param comparison  of report::comparison_document. Pure.
[[nodiscard]] std::string comparison_text(const nlohmann::ordered_json& comparison);

}  // namespace gangway::launch
