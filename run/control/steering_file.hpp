// SPDX-License-Identifier: MIT
// Records the users' commands to a running job: one line of JSON each in the run's steering.jsonl.
// No command changes a weight (a decision would, run/decision_file.hpp). The coordinator writes a
// line before it answers. The run's next start reads the file to stay paused and keep settings;
// other programs may read it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gangway {

/// File name in the run directory.
inline constexpr std::string_view kSteeringFile = "steering.jsonl";

/// The command of an event without a user: the coordinator moved micro-batches to faster workers.
inline constexpr std::string_view kBalance = "balance";

struct SteeringEvent {
  double unix_seconds = 0;  ///< time of the command
  std::int64_t step = 0;    ///< steps done when it takes effect
  std::int64_t start = 0;   ///< number of the run's start that got the command
  std::string command;      ///< "pause"
  std::string who;          ///< "ann@node-a by unix:"
  std::map<std::string, std::string> arguments;
  std::string answer;  ///< one line
  bool operator==(const SteeringEvent&) const = default;
};

using SteeringEvents = std::vector<SteeringEvent>;

/// Returns the events in their order. Skips damaged lines: a crash may cut the last line.
/// @throws EnvironmentError if the file cannot be read
[[nodiscard]] SteeringEvents read_steering(const std::filesystem::path& run);

/// Appends the event, also behind a line that a crash has cut. Other processes see it at once.
/// @throws EnvironmentError
void append_steering(const std::filesystem::path& run, const SteeringEvent& event);

/// Called with an empty text when a line is on the disk, else with the reason why it is not.
using SteeringWritten = std::function<void(const std::string& error)>;

/// Appends the event, then calls `written`, whether or not the write failed.
void append_steering(const std::filesystem::path& run, const SteeringEvent& event,
                     const SteeringWritten& written);

}  // namespace gangway
