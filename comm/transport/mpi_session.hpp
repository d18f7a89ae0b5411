// SPDX-License-Identifier: MIT
// MPI_Init to MPI_Finalize of one process, coordinator or worker, with what survives the loss of a
// rank (facts: one communicator made at the start, errors returned, SIGPIPE ignored).
#pragma once

#include <chrono>

#include <mpi.h>

namespace gangway::comm {

class MpiSession {
 public:
  /// Thread level "serialized": one thread at a time calls MPI, in a worker the lane's. @throws
  /// EnvironmentError.
  MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;
  ~MpiSession() =
      default;  // without finalize(): the process is about to _exit, and MPI is left alone

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] MPI_Comm communicator() const { return communicator_; }
  /// Orderly end, when every rank is alive and nothing is in flight: it waits for all. MPI_Finalize
  /// hangs after a loss and while mpirun is being ended, so the process ends with `exit_code` when
  /// the others have not come within `patience`.
  void finalize(int exit_code, std::chrono::seconds patience = std::chrono::seconds(3));

 private:
  MPI_Comm communicator_ = MPI_COMM_NULL;  // freed by finalize; never after a loss
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace gangway::comm
