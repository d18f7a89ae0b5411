// SPDX-License-Identifier: MIT
// gangway-worker: one MPI rank that computes. Started by `gangway train` under mpirun or srun.
#include <cstdio>
#include <cstdlib>
#include <exception>

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <unistd.h>

#include "comm/lane.hpp"
#include "comm/mpi_session.hpp"
#include "comm/mpi_transport.hpp"
#include "job/control_protocol.hpp"
#include "job/errors.hpp"
#include "job/parse.hpp"
#include "report/log_file.hpp"
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

void train(CoordinatorLink& link, const comm::MpiSession& session, comm::Lane& lane,
           MpiControlChannel& channel, std::unique_ptr<spdlog::logger>& log) {
  const WelcomeInfo welcome =
      link.join({.rank = session.rank(), .host = host_name(), .pid = getpid(), .device = "cpu"},
                kStartDeadline);
  log = report::open_log_file(welcome.run_directory, session.rank());
  log->info("worker {} of {}, pid {}", session.rank() - 1, welcome.ranges.size(), getpid());
  Lifeline lifeline(welcome.lifeline, session.rank(), kStartDeadline,
                    [&](const std::string& reason) {
                      log->error("{}", reason);
                      leave(ExitCode::kWorkerLost);
                    });
  const JobSpec job = parse_job(welcome.job_yaml, "job of the coordinator");
  // Both threads that compute: the lane runs the optimiser.
  at::set_num_threads(job.numerics.threads);
  lane.wait(lane.submit([&job] { at::set_num_threads(job.numerics.threads); }));
  comm::MpiTransport transport(session, welcome.epoch, [&channel] { channel.pump(); });
  Training training({job, welcome, link, transport, lane});
  const ReadyInfo ready = training.ready_info();
  log->info("{}; {}; from step {}", ready.plan_summary,
            welcome.resume_directory.empty() ? "new weights" : welcome.resume_directory,
            welcome.start_step);
  link.ready(ready);
  training.run();
  lifeline.expect_close();
  link.goodbye(kStartDeadline);
  log->info("done");
}

int run() {
  comm::MpiSession session;
  ExitCode code = ExitCode::kDone;
  MpiControlChannel channel(session);
  {
    comm::Lane lane([&channel] { channel.pump(); });
    channel.on_send([&lane] { lane.wake(); });
    const std::unique_ptr<CoordinatorLink> link = make_coordinator_link(channel);
    std::unique_ptr<spdlog::logger> log;  // from the Welcome on
    const auto fail = [&](ExitCode failure, const char* reason) {
      if (log != nullptr) {
        log->error("{}", reason);
      }
      link->stop(failure, reason);
      leave(failure);
    };
    try {
      train(*link, session, lane, channel, log);
    } catch (const StoppedByCoordinator& stopped) {
      if (log != nullptr) {
        leave(stopped.code());
      }
      code = stopped.code();  // refused before it began: all leave in order
    } catch (const Error& error) {
      fail(error.code(), error.what());
    } catch (const std::exception& error) {
      fail(ExitCode::kInternal, error.what());
    }
  }
  session.finalize(static_cast<int>(code));
  return static_cast<int>(code);
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
