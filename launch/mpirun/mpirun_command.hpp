// SPDX-License-Identifier: MIT
// The mpirun command that `gangway run` prints and starts. Pure: strings in, strings out.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace gangway::launch {

/// What carries messages between the ranks of a host, where it is the only one.
enum class HostMessages { kSharedMemory, kTcp };

/// What the command line depends on.
struct MpirunRequest {
  int workers = 1;
  int threads = 1;                 ///< numerics.threads
  std::filesystem::path program;   ///< this program, absolute
  std::filesystem::path hostfile;  ///< of hostfile_with_coordinator(); empty: this host alone
  HostMessages host_messages = HostMessages::kSharedMemory;
  /// Workers send tensors in the midst of steps, which are to find little before them.
  bool sends_tensors = false;
  std::vector<std::string>
      exported_variables;  ///< names of environment variables that workers elsewhere need too
  std::vector<std::string> train_arguments;  ///< what follows `gangway train`
};

/// One rank for the coordinator and one a worker.
[[nodiscard]] std::vector<std::string> mpirun_command(const MpirunRequest& request);

/// As many ranks at the same places for `request.program` with these arguments; ends with the first
/// that fails, and says why, which the other does not.
[[nodiscard]] std::vector<std::string> command_on_hosts(const MpirunRequest& request,
                                                        const std::vector<std::string>& arguments);

/// As one line that a shell reads back as the same words.
[[nodiscard]] std::string shell_line(const std::vector<std::string>& words);

}  // namespace gangway::launch
