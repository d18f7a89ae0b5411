// SPDX-License-Identifier: MIT
// The request for one start, which the coordinator carries out. `gangway run` writes it to the run
// directory and gives ranks its path; under a bare mpirun `gangway train` gives rank 0 its text.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "job/devices/device_facts.hpp"
#include "run/control_protocol.hpp"

namespace gangway {

/// Name in the run directory.
inline constexpr std::string_view kRequestFile = "request.json";

struct StartRequest {
  std::filesystem::path job_file;
  std::vector<std::string> overrides;  ///< key=value; empty under `gangway run`
  std::filesystem::path outdir = "runs";
  std::string run_name;  ///< empty: the job file's stem
  /// Absolute path that `gangway run` has made; replaces outdir and run_name. Empty: not made yet.
  std::filesystem::path run_directory;
  std::string resume = "auto";  ///< auto, never, must, or a path of a checkpoint or a run
  std::string trace;            ///< "100:110", or empty
  std::string command;          ///< for command.txt, and advised until the run has saved
  std::string resume_command;   ///< advised once the run has saved
  bool goes_on = false;         ///< `gangway run` starts the job again after a loss
  bool is_again = false;        ///< a restart: resumes earlier starts' state, in spite of `resume`
  /// Checkpoint up to which this run repeats another run (`gangway replay`). Empty: none.
  std::filesystem::path replay;
  std::uint16_t lifeline_port = 0;  ///< TCP port of the workers' lifelines; 0: any
  DeviceFacts device = {};          ///< of the workers: gives the job's auto keys their values
  int bar_columns = 0;              ///< terminal columns for a progress bar; 0: no bar
  /// Seconds until the last worker is ready.
  double start_deadline = std::chrono::duration<double>(kStartDeadline).count();
  [[nodiscard]] const std::string& name_or(const std::string& otherwise) const {
    return run_name.empty() ? otherwise : run_name;
  }
  bool operator==(const StartRequest&) const = default;
};

/// Returns the request's run directory; makes it if it is missing, unless `resume` is "must".
/// @throws ConfigError for a bad name; CheckpointError; EnvironmentError as create_run
[[nodiscard]] std::filesystem::path run_of(const StartRequest& request,
                                           const std::string& default_name);

/// Convert a request to JSON, and back. @param place  for messages
/// @throws ConfigError if text is not UTF-8; EnvironmentError if `json` is no request: one line
/// with the place and the remedy
[[nodiscard]] std::string to_json(const StartRequest& request);
[[nodiscard]] StartRequest parse_request(std::string_view json, const std::string& place);
/// Reads RUN/request.json. @throws EnvironmentError as parse_request
[[nodiscard]] StartRequest read_request(const std::filesystem::path& file);

}  // namespace gangway
