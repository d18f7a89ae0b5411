// SPDX-License-Identifier: MIT
#include "comm/mpi_session.hpp"

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <thread>

#include <unistd.h>

#include "job/errors.hpp"

namespace gangway::comm {

MpiSession::MpiSession() {
  int provided = MPI_THREAD_SINGLE;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS ||
      provided < MPI_THREAD_SERIALIZED) {
    throw EnvironmentError("MPI does not start with thread support; try 'gangway doctor'");
  }
  // A survivor that writes to a dead TCP peer must get an error, not SIGPIPE. MPI_Init may have set
  // its own handler.
  (void)std::signal(SIGPIPE, SIG_IGN);
  MPI_Comm_dup(MPI_COMM_WORLD, &communicator_);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN);
  MPI_Comm_rank(communicator_, &rank_);
  MPI_Comm_size(communicator_, &size_);
}

void MpiSession::finalize(int exit_code) {
  constexpr std::chrono::seconds kPatience{3};
  std::mutex mutex;
  std::condition_variable_any ended;
  const std::jthread watch([&](const std::stop_token& stop) {
    std::unique_lock lock(mutex);
    // True only by the stop that comes with the end of this function.
    if (!ended.wait_for(lock, stop, kPatience, [&] { return stop.stop_requested(); })) {
      ::_exit(exit_code);
    }
  });
  MPI_Comm_free(&communicator_);
  MPI_Finalize();
}

}  // namespace gangway::comm
