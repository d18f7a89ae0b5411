// SPDX-License-Identifier: MIT
// Writes and reads decisions. Each is a line of JSON in the run's decisions.jsonl, and the details
// of an event in a checkpoint's manifest. The coordinator writes a decision under the run's lock,
// before it acts on it; any program may read it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "job/decisions.hpp"

namespace gangway {

/// File name in the run directory.
inline constexpr std::string_view kDecisionsFile = "decisions.jsonl";

/// Returns all of a decision but step and kind, as one line of JSON. Cuts a very long "why".
[[nodiscard]] std::string decision_detail(const Decision& decision);
/// Parses the result of decision_detail for this step and kind; nothing if it is not valid.
[[nodiscard]] std::optional<Decision> parse_decision(std::int64_t step, std::string_view kind,
                                                     const std::string& detail);

/// Returns the decisions in their order; nothing if there is no file.
/// @throws CheckpointError for a damaged decision: file, line and remedy
[[nodiscard]] std::optional<Decisions> read_decisions(const std::filesystem::path& run);

/// Writes the decisions; they are on the disk when this returns. @throws EnvironmentError
void write_decisions(const std::filesystem::path& run, const Decisions& decisions);

}  // namespace gangway
