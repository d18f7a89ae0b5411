// SPDX-License-Identifier: MIT
// The losses after which `gangway run` has started a job again, or has given it up: a line of JSON
// each in the run's restarts.jsonl. None of it changes a number of the training. Written by
// `gangway run` between two starts; read by the next start's coordinator, and by anybody.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gangway {

/// In the run directory.
inline constexpr std::string_view kRestartsFile = "restarts.jsonl";

struct Restart {
  double unix_seconds = 0;            ///< when all that was left of the lost start had ended
  std::int64_t start = 0;             ///< number of the lost start
  std::optional<std::int64_t> begun;  ///< step that it had begun at; nothing: it never began
  double ran_seconds = 0;             ///< from its launch to its end
  std::string why;                    ///< one line: the rank or host that was lost
  std::string host;  ///< where, as the hostfile calls it; empty: this one, or unknown
  std::vector<std::string> left_out;  ///< hosts that the next start goes on without
  int workers = 0;                    ///< of the next start; 0: there is none
  std::string answer;                 ///< one line: what was done
  bool operator==(const Restart&) const = default;
};

using Restarts = std::vector<Restart>;

/// In the order in which they came; what is damaged is left out.
/// @throws EnvironmentError where the file cannot be read
[[nodiscard]] Restarts read_restarts(const std::filesystem::path& run);

/// From its return on it is on the disk. @throws EnvironmentError
void append_restart(const std::filesystem::path& run, const Restart& restart);

}  // namespace gangway
