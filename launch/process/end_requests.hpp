// SPDX-License-Identifier: MIT
// Signals that ask a command to end while none of its children runs. Used by commands that start
// one child after another, main thread.
#pragma once

#include "base/errors.hpp"

namespace gangway::launch {

/// A signal has asked this command to end, and it has put away what it had made.
class SignalledError : public Error {
 public:
  explicit SignalledError(int signal)
      : Error(static_cast<ExitCode>(128 + signal), "stopped by a signal; nothing is left behind") {}
};

/// From its making on SIGINT, SIGTERM and SIGHUP are noted, so that the process ends where it
/// looks, with what it has made put away. The handlers stay: the process has nothing else to do.
class EndRequests {
 public:
  EndRequests();
  /// @throws SignalledError where one has come
  static void heed();
};

}  // namespace gangway::launch
