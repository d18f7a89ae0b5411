// SPDX-License-Identifier: MIT
// Holds one process's MPI, from MPI_Init to MPI_Finalize, in a form that survives the loss of a
// rank: one communicator made at the start, errors returned, SIGPIPE ignored.
#pragma once

#include <chrono>

#include <mpi.h>

#include "base/index.hpp"

namespace gangway::comm {

class MpiSession {
 public:
  /// Thread level "serialized": one thread at a time calls MPI, in a worker the lane's.
  /// @throws EnvironmentError if MPI does not start with it.
  MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;
  ~MpiSession() = default;  // without finalize(): the process is about to _exit, without MPI

  [[nodiscard]] Rank rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] MPI_Comm communicator() const { return communicator_; }
  /// Ends MPI in order: every rank is alive and no message is in flight. Waits for all ranks. Calls
  /// _exit with `exit_code` if they do not come within `patience`, because MPI_Finalize hangs after
  /// a loss and while mpirun is being ended.
  void finalize(int exit_code, std::chrono::seconds patience = std::chrono::seconds(3));

 private:
  MPI_Comm communicator_ = MPI_COMM_NULL;  // freed by finalize; never after a loss
  Rank rank_;
  int size_ = 1;
};

}  // namespace gangway::comm
