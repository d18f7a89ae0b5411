// SPDX-License-Identifier: MIT
// A worker is lost in the middle of a reduction; the others must say so within the deadline. Under
// `mpirun --enable-recovery`, one rank more than workers. tests/gpu/run counts the lines.
//
//   nccl_abort die     the last worker ends by SIGKILL
//   nccl_abort stop    the last worker goes silent
#include <chrono>
#include <csignal>
#include <functional>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

#include "tests/gpu/gpu_network.hpp"
#include "tests/gpu/workers.hpp"

namespace gangway::comm {
namespace {

using std::chrono_literals::operator""s;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kTimeout{5};

/// Where the coordinator and the silent worker stay until tests/gpu/run has heard the survivors; a
/// minute at most.
void fall_silent() {
  (void)alarm(60);
  (void)pause();
}

/// The line that tests/gpu/run waits for. @param step  that one worker is missing from
void survive(const MpiSession& mpi, NcclSession& session, const std::function<void()>& step) {
  const auto begin = Clock::now();
  std::string failure;
  try {
    step();
    session.throw_if_failed();
  } catch (const Error& error) {
    failure = error.what();
  }
  try {
    session.abort("after a loss");
  } catch (const Error& error) {
    failure += fmt::format("; NOT ABORTED: {}", error.what());
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  const bool is_good = !failure.empty() && failure.find("NOT ABORTED") == std::string::npos;
  fmt::print("{} worker {} after {:.1f} s: {}\n", is_good ? "ABORTED" : "WRONG",
             worker_of(mpi.rank()), seconds, failure.empty() ? "noticed nothing" : failure);
}

void run(const MpiSession& mpi, std::string_view how) {
  MpiTransport transport(mpi, 0, [] {});
  NcclSetup setup =
      session_setup(transport, NcclSession::Calls::kNonBlocking, std::chrono::seconds(30));
  setup.timeout = kTimeout;
  NcclSession session(setup);
  const ArenaLayout layout = toy_layout();
  const CudaStream compute = make_compute_stream();
  GpuNetwork network(session, layout, {});
  network.step(1, compute.get(), BucketEvents::kEarly);
  network.reducer().synchronise();
  if (transport.worker() + 1 == transport.num_workers()) {
    how == "stop" ? fall_silent() : (void)raise(SIGKILL);
  } else {
    survive(mpi, session, [&] {
      network.step(2, compute.get(), BucketEvents::kEarly);
      network.reducer().synchronise();
    });
  }
  (void)std::fflush(stdout);
  _exit(0);  // MPI_Finalize hangs after a loss
}

}  // namespace
}  // namespace gangway::comm

int main(int argc, char** argv) {
  const std::string_view how = argc == 2 ? argv[1] : "";
  if (how != "die" && how != "stop") {
    fmt::print(stderr, "usage: mpirun --enable-recovery -n 1+WORKERS nccl_abort die|stop\n");
    return 2;
  }
  const gangway::comm::MpiSession mpi;
  if (mpi.rank() == gangway::Rank(0)) {
    gangway::comm::fall_silent();
    _exit(0);
  }
  try {
    gangway::comm::run(mpi, how);
  } catch (const gangway::Error& error) {
    fmt::print("WRONG worker {}: {}\n", worker_of(mpi.rank()), error.what());
    (void)std::fflush(stdout);
    _exit(1);
  }
}
