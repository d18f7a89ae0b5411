// SPDX-License-Identifier: MIT
// What the coordinator is asked for at one start. `gangway run` writes it into the run directory
// and gives ranks its path; of a bare mpirun `gangway train` gives the coordinator its text.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "run/control_protocol.hpp"

namespace gangway {

/// Name in the run directory.
inline constexpr std::string_view kRequestFile = "request.json";

struct StartRequest {
  std::filesystem::path job_file;
  std::vector<std::string> overrides;  ///< key=value; of `gangway run` none are left
  std::filesystem::path outdir = "runs";
  std::string run_name;  ///< empty: the job file's stem
  /// Chosen and made by `gangway run`, in the place of the two above; absolute. Empty: it is not.
  std::filesystem::path run_directory;
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
  /// Seconds until the last worker is ready.
  double start_deadline = std::chrono::duration<double>(kStartDeadline).count();
  [[nodiscard]] const std::string& name_or(const std::string& otherwise) const {
    return run_name.empty() ? otherwise : run_name;
  }
  bool operator==(const StartRequest&) const = default;
};

/// The run directory that it means, made where there is none, unless `resume` is must.
/// @throws ConfigError for a bad name; CheckpointError; EnvironmentError as create_run
[[nodiscard]] std::filesystem::path run_of(const StartRequest& request,
                                           const std::string& default_name);

/// JSON, and back. @param place  for messages
/// @throws ConfigError of text that is not UTF-8; EnvironmentError of what is no request: one line
/// with the place and the remedy
[[nodiscard]] std::string to_json(const StartRequest& request);
[[nodiscard]] StartRequest parse_request(std::string_view json, const std::string& place);
/// Of RUN/request.json. @throws EnvironmentError likewise
[[nodiscard]] StartRequest read_request(const std::filesystem::path& file);

}  // namespace gangway
