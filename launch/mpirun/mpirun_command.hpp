// SPDX-License-Identifier: MIT
// The mpirun command that `gangway run` prints and starts. Pure: strings in, strings out.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace gangway::launch {

/// Transport between the ranks of a host, if the job has only one host.
enum class HostMessages { kSharedMemory, kTcp };

/// Inputs of the command line.
struct MpirunRequest {
  int workers = 1;
  int threads = 1;                 ///< numerics.threads
  std::filesystem::path program;   ///< path of this program, absolute
  std::filesystem::path hostfile;  ///< of hostfile_with_coordinator(); empty: only this host
  HostMessages host_messages = HostMessages::kSharedMemory;
  /// Workers send tensors within steps; these must not queue behind much other data.
  bool sends_tensors = false;
  std::vector<std::string>
      exported_variables;  ///< names of environment variables that workers elsewhere need too
  std::vector<std::string> train_arguments;  ///< arguments after `gangway train`
};

/// Returns the command: one rank for the coordinator and one for each worker.
[[nodiscard]] std::vector<std::string> mpirun_command(const MpirunRequest& request);

/// Returns a command that runs `request.program` with these arguments on the same ranks. It ends
/// with the first rank that fails and reports why, unlike mpirun_command.
[[nodiscard]] std::vector<std::string> command_on_hosts(const MpirunRequest& request,
                                                        const std::vector<std::string>& arguments);

/// Quotes words as one line that a shell splits into the same words.
[[nodiscard]] std::string shell_line(const std::vector<std::string>& words);

}  // namespace gangway::launch
