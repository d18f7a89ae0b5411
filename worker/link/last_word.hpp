// SPDX-License-Identifier: MIT
// A crash says its name: before SIGSEGV, SIGBUS, SIGFPE, SIGILL or SIGABRT ends this process, one
// byte with the signal's number goes out on the lifeline. Nobody can do this for SIGKILL, so
// silence means that. Made by the Lifeline; one at a time in a process.
#pragma once

namespace gangway::worker {

/// Installs the handlers, after MPI_Init, whose own handlers still run afterwards.
class LastWord {
 public:
  /// @param socket  connected and open until the destructor has run; borrowed
  explicit LastWord(int socket);
  ~LastWord();
  LastWord(const LastWord&) = delete;
  LastWord& operator=(const LastWord&) = delete;
};

}  // namespace gangway::worker
