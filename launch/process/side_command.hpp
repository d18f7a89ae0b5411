// SPDX-License-Identifier: MIT
// Runs a command beside a supervised job and keeps its output. Called by the supervisor, which
// reaps it with its other children; never waits. Main thread.
#pragma once

#include <csignal>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/file_descriptor.hpp"

namespace gangway::launch {

class SideCommand {
 public:
  /// Starts the command; process() is -1 if that fails. It gets SIGTERM when this process dies.
  /// @param signals  the command's initial signal mask
  SideCommand(const std::vector<std::string>& words, const sigset_t& signals);

  [[nodiscard]] pid_t process() const { return process_; }
  /// Returns standard output and standard error, cut off at the pipe's size. @pre it has ended
  [[nodiscard]] std::string said() const;

 private:
  FileDescriptor output_;
  pid_t process_ = -1;
};

}  // namespace gangway::launch
