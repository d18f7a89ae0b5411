// SPDX-License-Identifier: MIT
// A command that runs beside a supervised job, whose output is kept. Started and asked by the
// supervisor, which reaps it with its other children; never waits. Main thread.
#pragma once

#include <csignal>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/file_descriptor.hpp"

namespace gangway::launch {

class Errand {
 public:
  /// Starts it; where that fails, it has no process. It gets SIGTERM when this process dies.
  /// @param signals  mask that it begins with
  Errand(const std::vector<std::string>& words, const sigset_t& signals);

  [[nodiscard]] pid_t process() const { return process_; }
  /// Standard output and standard error, as far as a pipe holds them. @pre it has ended
  [[nodiscard]] std::string said() const;

 private:
  FileDescriptor output_;
  pid_t process_ = -1;
};

}  // namespace gangway::launch
