// SPDX-License-Identifier: MIT
#include "comm/transport/mpi_session.hpp"

#include <chrono>
#include <csignal>
#include <future>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include "base/errors.hpp"
#include "run/control_protocol.hpp"

namespace gangway::comm {

namespace {

/// Checks the tag range: some transports below MPI (UCX) leave fewer bits than MessageTag needs.
void require_tags(MPI_Comm communicator) {
  void* attribute = nullptr;
  int found = 0;
  MPI_Comm_get_attr(communicator, MPI_TAG_UB, static_cast<void*>(&attribute), &found);
  const int largest = found != 0 ? *static_cast<int*>(attribute) : 0;
  if (largest < kControlTag) {
    throw EnvironmentError(fmt::format(
        "this MPI allows message tags up to {} where {} is needed; start mpirun with --mca pml ob1",
        largest, kControlTag));
  }
}

}  // namespace

MpiSession::MpiSession() {
  int provided = MPI_THREAD_SINGLE;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS ||
      provided < MPI_THREAD_SERIALIZED) {
    throw EnvironmentError("MPI does not start with thread support; try 'gangway doctor'");
  }
  // A survivor that writes to a dead TCP peer must get an error, not SIGPIPE. MPI_Init may have
  // installed its own handler.
  (void)std::signal(SIGPIPE, SIG_IGN);
  MPI_Comm_dup(MPI_COMM_WORLD, &communicator_);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN);
  require_tags(communicator_);
  int rank = 0;
  MPI_Comm_rank(communicator_, &rank);
  rank_ = Rank(rank);
  MPI_Comm_size(communicator_, &size_);
}

void MpiSession::finalize(int exit_code, std::chrono::seconds patience) {
  std::promise<void> ended;
  const std::jthread watch([&] {
    if (ended.get_future().wait_for(patience) != std::future_status::ready) {
      ::_exit(exit_code);
    }
  });
  MPI_Comm_free(&communicator_);
  MPI_Finalize();
  ended.set_value();
}

}  // namespace gangway::comm
