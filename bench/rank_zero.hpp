// SPDX-License-Identifier: MIT
// Rank 0 of a benchmark under mpirun: present, as the coordinator in training, but asleep, so that
// it uses no core.
#pragma once

#include <chrono>
#include <thread>

#include "comm/transport/mpi_session.hpp"
#include "run/control_protocol.hpp"

namespace gangway::bench {

/// Sleeps until rank 1 calls wake_rank_zero(). Called by rank 0.
inline void sleep_until_the_end(const comm::MpiSession& session) {
  constexpr auto kNap = std::chrono::milliseconds(5);
  char word = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(&word, 1, MPI_CHAR, 1, kControlTag, session.communicator(), &request);
  for (int finished = 0; finished == 0;) {
    std::this_thread::sleep_for(kNap);
    MPI_Test(&request, &finished, MPI_STATUS_IGNORE);
  }
}

/// Ends the sleep of rank 0. Called by rank 1 after all measurements.
inline void wake_rank_zero(const comm::MpiSession& session) {
  const char word = 0;
  MPI_Send(&word, 1, MPI_CHAR, 0, kControlTag, session.communicator());
}

}  // namespace gangway::bench
