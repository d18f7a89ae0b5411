// SPDX-License-Identifier: MIT
// The mpirun command that `gangway run` prints and starts. Pure: strings in, strings out.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace gangway::launch {

/// What the command line depends on.
struct MpirunRequest {
  int workers = 1;
  int threads = 1;                 ///< numerics.threads
  std::filesystem::path program;   ///< this program, absolute
  std::filesystem::path hostfile;  ///< empty: this host alone
  std::vector<std::string>
      exported_variables;  ///< names of environment variables that workers elsewhere need too
  std::vector<std::string> train_arguments;  ///< what follows `gangway train`
};

/// One rank for the coordinator and one a worker.
[[nodiscard]] std::vector<std::string> mpirun_command(const MpirunRequest& request);

/// As one line that a shell reads back as the same words.
[[nodiscard]] std::string shell_line(const std::vector<std::string>& words);

/// A hostfile with one slot more on its first host, for the coordinator. @throws ConfigError when
/// it names no host.
[[nodiscard]] std::string hostfile_with_coordinator(std::string_view hostfile);

/// Slots that a hostfile offers workers; a host without `slots=` counts as one. @throws ConfigError
/// as above.
[[nodiscard]] int hostfile_slots(std::string_view hostfile);

}  // namespace gangway::launch
