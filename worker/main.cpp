// SPDX-License-Identifier: MIT
// gangway-worker: one MPI rank that computes. Started by `gangway train` under mpirun or srun.
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "comm/lane.hpp"
#include "comm/mpi_session.hpp"
#include "comm/mpi_transport.hpp"
#include "job/control_protocol.hpp"
#include "job/errors.hpp"
#include "job/parse.hpp"
#include "worker/coordinator_link_mpi.hpp"
#include "worker/lifeline.hpp"
#include "worker/mpi_control_channel.hpp"
#include "worker/training.hpp"

namespace gangway::worker {
namespace {

std::string host_name() {
  char name[256] = {};
  (void)gethostname(name, sizeof name - 1);
  return name;
}

/// Leaves without MPI_Finalize, which may wait for a lost rank for ever.
[[noreturn]] void leave(ExitCode code) {
  (void)std::fflush(nullptr);
  _exit(static_cast<int>(code));
}

void train(CoordinatorLink& link, const comm::MpiSession& session, comm::Lane& lane, MpiControlChannel& channel) {
  const WelcomeInfo welcome =
      link.join({.rank = session.rank(), .host = host_name(), .pid = getpid(), .device = "cpu"}, kStartDeadline);
  Lifeline lifeline(welcome.lifeline, session.rank(), kStartDeadline, [&](const std::string& reason) {
    fmt::print(stderr, "gangway-worker: rank {}: {}\n", session.rank(), reason);
    leave(ExitCode::kWorkerLost);
  });
  const JobSpec job = parse_job(welcome.job_yaml, "job of the coordinator");
  at::set_num_threads(job.numerics.threads);
  comm::MpiTransport transport(session, welcome.epoch, [&channel] { channel.pump(); });
  Training training({job, welcome, link, transport, lane});
  link.ready(training.ready_info());
  training.run();
  link.goodbye(kStartDeadline);
  lifeline.expect_close();
}

int run() {
  comm::MpiSession session;
  MpiControlChannel channel(session);
  {
    comm::Lane lane([&channel] { channel.pump(); });
    channel.on_send([&lane] { lane.wake(); });
    const std::unique_ptr<CoordinatorLink> link = make_coordinator_link(channel);
    try {
      train(*link, session, lane, channel);
    } catch (const StoppedByCoordinator& stopped) {
      leave(stopped.code());
    } catch (const Error& error) {
      link->stop(error.code(), error.what());
      leave(error.code());
    } catch (const std::exception& error) {
      link->stop(ExitCode::kInternal, error.what());
      leave(ExitCode::kInternal);
    }
  }
  session.finalize();
  return static_cast<int>(ExitCode::kDone);
}

}  // namespace
}  // namespace gangway::worker

int main() {
  try {
    return gangway::worker::run();
  } catch (const std::exception& error) {
    fmt::print(stderr, "gangway-worker: {}\n", error.what());
    return static_cast<int>(gangway::ExitCode::kEnvironment);
  }
}
