// SPDX-License-Identifier: MIT
// Rank 1 takes nothing, and dies while messages to it wait in rank 0. Says "survived" where rank 0
// has outlived that.
//
//   mpirun --enable-recovery --mca btl self,tcp -n 2 mpi_abort_program survive|end
#include <chrono>
#include <csignal>
#include <iostream>
#include <string_view>
#include <thread>
#include <vector>

#include <mpi.h>
#include <unistd.h>

#include "comm/transport/mpi_abort.hpp"
#include "comm/transport/mpi_session.hpp"

namespace {

// A message that leaves without being asked for (btl_tcp_eager_limit); so many of them are more
// than sockets hold.
constexpr int kBytes = 40 << 10;
constexpr int kMessages = 2'000;
constexpr std::chrono::milliseconds kLife{700};
constexpr std::chrono::seconds kAfterwards{3};

}  // namespace

int main(int count, char** arguments) {
  const gangway::comm::MpiSession session;
  if (session.rank() == gangway::Rank(1)) {
    std::this_thread::sleep_for(kLife);
    (void)std::raise(SIGKILL);
  }
  if (count == 2 && std::string_view(arguments[1]) == "survive") {
    gangway::comm::survive_mpi_aborts();
  }
  const std::jthread watch([] {
    std::this_thread::sleep_for(kAfterwards);
    std::cout << "survived" << std::endl;
    ::_exit(0);
  });
  const std::vector<char> bytes(kBytes);
  MPI_Request request{};
  for (int i = 0; i < kMessages; ++i) {
    MPI_Isend(bytes.data(), kBytes, MPI_CHAR, 1, 0, session.communicator(), &request);
  }
  for (;;) {
    int finished = 0;
    MPI_Test(&request, &finished, MPI_STATUS_IGNORE);
  }
}
