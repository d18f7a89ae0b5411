// SPDX-License-Identifier: MIT
// Formats the root cause of a failed job: a text box for the user, error.json for programs. Called
// by coordinator and supervisor; pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/index.hpp"

namespace gangway::report {

/// The first failure of a job; later failures follow from it.
struct Failure {
  Rank rank{};  ///< MPI rank
  std::string host;
  std::int64_t pid = 0;
  std::optional<int> signal;                   ///< signal that killed the process, if any and known
  std::optional<int> exit_code;                ///< of the process, if it exited
  int job_exit_code = 1;                       ///< exit code of `gangway run`
  std::string reason;                          ///< one line: the cause
  std::chrono::system_clock::time_point time;  ///< when it was detected
  std::int64_t step = 0;                       ///< steps done
  std::string log_file;                        ///< empty: none
  std::string last_checkpoint;                 ///< empty: none yet
  std::string resume_command;                  ///< empty: nothing to resume
  /// Arguments for resume_command that avoid the same failure, each after a space.
  std::string change = {};
};

/// Returns "SIGKILL", or "signal 77" for a signal without a name.
[[nodiscard]] std::string signal_name(int signal);

/// Returns the box: lines of equal width in an ASCII frame, ending in a newline. Wraps long values.
[[nodiscard]] std::string failure_box(const Failure& failure);

/// Returns an indented JSON object that ends in a newline; unknown values are null.
[[nodiscard]] std::string failure_json(const Failure& failure);

}  // namespace gangway::report
