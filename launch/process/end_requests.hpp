// SPDX-License-Identifier: MIT
// Notes signals that ask a command to end while none of its children runs. Called by commands that
// start children one after another, main thread.
#pragma once

#include "base/errors.hpp"

namespace gangway::launch {

/// Thrown after a signal asked this command to end and the command removed its files.
class SignalledError : public Error {
 public:
  explicit SignalledError(int signal)
      : Error(static_cast<ExitCode>(128 + signal), "stopped by a signal; nothing is left behind") {}
};

/// Notes SIGINT, SIGTERM and SIGHUP from construction on, so that the process can end at heed() and
/// remove its files. The handlers stay installed: the process does nothing else.
class EndRequests {
 public:
  EndRequests();
  /// @throws SignalledError if a signal was noted
  static void heed();
};

}  // namespace gangway::launch
