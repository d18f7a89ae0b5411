// SPDX-License-Identifier: MIT
// Reports crashes: before SIGSEGV, SIGBUS, SIGFPE, SIGILL or SIGABRT ends this process, sends the
// signal's number as one byte on the lifeline. SIGKILL cannot be caught, so silence means SIGKILL.
// Made by the Lifeline; one at a time in a process.
#pragma once

namespace gangway::worker {

/// Installs the handlers after MPI_Init; MPI's own handlers run afterwards.
class SignalReporter {
 public:
  /// @param socket  connected and open until the destructor has run; borrowed
  explicit SignalReporter(int socket);
  ~SignalReporter();
  SignalReporter(const SignalReporter&) = delete;
  SignalReporter& operator=(const SignalReporter&) = delete;
};

}  // namespace gangway::worker
