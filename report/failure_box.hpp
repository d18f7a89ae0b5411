// SPDX-License-Identifier: MIT
// The root cause of a failed job, as a box for a person and as error.json for a program. Made by
// the coordinator or by the supervisor; pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace gangway::report {

/// The first failure: later ones are its consequences.
struct Failure {
  int rank = 0;  ///< MPI rank
  std::string host;
  std::int64_t pid = 0;
  std::optional<int>
      signal;  ///< number of the signal that killed the process, if one did and it is known
  std::optional<int> exit_code;                ///< of the process, if it ended by itself
  int job_exit_code = 1;                       ///< what `gangway run` returns for it
  std::string reason;                          ///< one line: what happened
  std::chrono::system_clock::time_point time;  ///< when it was noticed
  std::int64_t step = 0;                       ///< steps done
  std::string log_file;                        ///< empty: none
  std::string last_checkpoint;                 ///< empty: none yet
  std::string resume_command;                  ///< empty: nothing to resume
  /// Words behind it, each after a space, without which it would only fail again; empty: none.
  std::string change = {};
};

/// "SIGKILL", or "signal 77" for one without a name.
[[nodiscard]] std::string signal_name(int signal);

/// Lines of equal width with a frame of ASCII characters, ending in a newline. Long values are
/// wrapped.
[[nodiscard]] std::string failure_box(const Failure& failure);

/// The same as an indented JSON object ending in a newline; what is not known is null.
[[nodiscard]] std::string failure_json(const Failure& failure);

}  // namespace gangway::report
