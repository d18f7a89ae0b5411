// SPDX-License-Identifier: MIT
// What `gangway run` asks of one start: written into the run directory beside the job
// (asked.yaml), read by the coordinator. Ranks under mpirun get its path alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace gangway {

/// Name in the run directory.
inline constexpr std::string_view kRequestFile = "request.json";

struct StartRequest {
  std::string resume = "auto";  ///< auto, never, must, or a path of a checkpoint or a run
  std::string trace;            ///< "100:110", or empty
  std::string command;          ///< for command.txt, and the advice until the run has saved
  std::string resume_command;   ///< the advice from then on
  bool goes_on = false;         ///< `gangway run` starts the job again after a loss
  bool is_again = false;  ///< not its first start: what those before left counts, whatever `resume`
  /// Checkpoint of another run: this one repeats it up to there (`gangway replay`). Empty: none.
  std::filesystem::path replay;
  std::uint16_t lifeline_port = 0;  ///< TCP port of the workers' lifelines; 0: any
  int bar_columns = 0;              ///< of the terminal, for a progress bar; 0: none
  bool operator==(const StartRequest&) const = default;
};

/// Each @throws EnvironmentError: one line with the path and the remedy.
void write_request(const std::filesystem::path& run, const StartRequest& request);
/// @param file  RUN/request.json
[[nodiscard]] StartRequest read_request(const std::filesystem::path& file);

}  // namespace gangway
