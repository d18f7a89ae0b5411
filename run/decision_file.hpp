// SPDX-License-Identifier: MIT
// Decisions as text: a line of JSON each in the run's decisions.jsonl, and the details of an event
// in a checkpoint's manifest. Written by the coordinator under the run's lock, before anything
// follows of a decision; read by anybody.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "job/decisions.hpp"

namespace gangway {

/// In the run directory.
inline constexpr std::string_view kDecisionsFile = "decisions.jsonl";

/// All but the step and the kind, as JSON in one line. "why" is cut where it is very long.
[[nodiscard]] std::string decision_detail(const Decision& decision);
/// What decision_detail has made, of an event with this step and kind; nothing where it cannot be.
[[nodiscard]] std::optional<Decision> parse_decision(std::int64_t step, std::string_view kind,
                                                     const std::string& detail);

/// In the order in which they were decided; nothing where there is no file.
/// @throws CheckpointError for one that is damaged: file, line and remedy
[[nodiscard]] std::optional<Decisions> read_decisions(const std::filesystem::path& run);

/// From its return on they are on the disk. @throws EnvironmentError
void write_decisions(const std::filesystem::path& run, const Decisions& decisions);

}  // namespace gangway
