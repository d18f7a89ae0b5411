// SPDX-License-Identifier: MIT
// What people asked of a run while it was trained, and what of it stands: a line of JSON each in
// the run's steering.jsonl. None of it changes a weight (that would be a decision,
// run/decision_file.hpp). Written by the coordinator before it answers; read by its next
// start, which stays paused, and keeps what was set, and by anybody.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gangway {

/// In the run directory.
inline constexpr std::string_view kSteeringFile = "steering.jsonl";

/// The command of an event without a user: the coordinator moved micro-batches to faster workers.
inline constexpr std::string_view kBalance = "balance";

struct SteeringEvent {
  double unix_seconds = 0;  ///< when it was asked
  std::int64_t step = 0;    ///< steps after which it takes effect
  std::int64_t start = 0;   ///< number of the start of the run that was asked
  std::string command;      ///< "pause"
  std::string who;          ///< "ann@node-a by unix:"
  std::map<std::string, std::string> arguments;
  std::string answer;  ///< one line
  bool operator==(const SteeringEvent&) const = default;
};

using SteeringEvents = std::vector<SteeringEvent>;

/// In the order in which they came; what is damaged (a crash may cut the last line) is left out.
/// @throws EnvironmentError where the file cannot be read
[[nodiscard]] SteeringEvents read_steering(const std::filesystem::path& run);

/// One line more, behind one that a crash has cut; other processes see it at once.
/// @throws EnvironmentError
void append_steering(const std::filesystem::path& run, const SteeringEvent& event);

/// Told when a line is on the disk, with an empty text, or why it is not.
using SteeringWritten = std::function<void(const std::string& error)>;

/// The same; then calls `written`, in any case.
void append_steering(const std::filesystem::path& run, const SteeringEvent& event,
                     const SteeringWritten& written);

}  // namespace gangway
