// SPDX-License-Identifier: MIT
// Records each loss after which `gangway run` restarted a job or gave it up: a line of JSON in the
// run's restarts.jsonl. The file changes no number of the training. `gangway run` writes it between
// two starts; the next start's coordinator and any other program may read it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gangway {

/// File name in the run directory.
inline constexpr std::string_view kRestartsFile = "restarts.jsonl";

struct Restart {
  double unix_seconds = 0;            ///< time at which the lost start's last process had ended
  std::int64_t start = 0;             ///< number of the lost start
  std::optional<std::int64_t> begun;  ///< step that it began at; nothing: it never began
  double ran_seconds = 0;             ///< from its launch to its end
  std::string why;                    ///< one line: the rank or host that was lost
  std::string host;  ///< the loss's host, as the hostfile names it; empty: this host, or unknown
  std::vector<std::string> left_out;  ///< hosts that the next start does not use
  int workers = 0;                    ///< workers of the next start; 0: no next start
  std::string answer;                 ///< one line: the action taken
  bool operator==(const Restart&) const = default;
};

using Restarts = std::vector<Restart>;

/// Returns the losses in their order; skips damaged lines.
/// @throws EnvironmentError if the file cannot be read
[[nodiscard]] Restarts read_restarts(const std::filesystem::path& run);

/// Appends a loss; it is on the disk when this returns. @throws EnvironmentError
void append_restart(const std::filesystem::path& run, const Restart& restart);

}  // namespace gangway
