// SPDX-License-Identifier: MIT
#include "launch/run/restarts.hpp"

#include <chrono>
#include <filesystem>
#include <iostream>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/time.hpp"
#include "launch/mpirun/mpirun_command.hpp"
#include "run/restart_file.hpp"
#include "run/run_files.hpp"
#include "run/run_start.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;

/// Says that the job starts, and by which command where that is asked for: it is long.
void tell_start(const SupervisedJob& job) {
  std::cout << fmt::format("start  {} processes by mpirun", job.ranks)
            << (job.tells_command ? ": " + shell_line(job.command) : "") << std::endl;
}

}  // namespace

Restarter::Restarter(Starts& starts, fs::path run, int most)
    : starts_(starts),
      run_(std::move(run)),
      recovery_(most, read_run_start(run_).value_or(RunStart{}).incarnation),
      job_(starts.first(recovery_.goes_on())) {
  ::sigprocmask(SIG_BLOCK, nullptr, &signals_before_);
}

int Restarter::supervise_all() {
  while (true) {
    tell_start(job_);
    const auto begin = std::chrono::steady_clock::now();
    const SupervisedEnd end = supervise(job_);
    const auto status = read_status(run_);
    const Next next = recovery_.next(end, status);
    if (next == Next::kEnd) {
      return end.exit_code;
    }
    if (next == Next::kLeave) {
      return leave();
    }
    // The supervisor keeps signals back, and the next one's mpirun would inherit that. One that has
    // come since ends this process here: nothing runs, and the same command goes on.
    ::sigprocmask(SIG_SETMASK, &signals_before_, nullptr);
    if (next == Next::kAfterLoss) {
      if (!go_on_after(end, seconds(std::chrono::steady_clock::now() - begin))) {
        return end.exit_code;
      }
    } else if (next == Next::kAfterResize) {
      starts_.after_resize(job_, *status);
    } else {
      starts_.after_rollback(job_);
    }
    clear_status(run_);
    fs::remove(run_ / kPlacementFile);
  }
}

int Restarter::leave() const {
  const std::string reason = "stopped on request before it went on: the same command goes on";
  std::cerr << "gangway: " << reason << std::endl;
  write_status(run_, {.exit_code = static_cast<int>(ExitCode::kPreempted), .reason = reason});
  return static_cast<int>(ExitCode::kPreempted);
}

bool Restarter::go_on_after(const SupervisedEnd& end, double ran_seconds) {
  const double ended = unix_seconds();
  auto [restart, wait] =
      recovery_.answer(end, read_run_start(run_).value_or(RunStart{}), starts_.lineups(),
                       [&] { return starts_.after_loss(job_, end.lost, recovery_.goes_on()); });
  restart.unix_seconds = ended;
  restart.ran_seconds = ran_seconds;
  try {
    append_restart(run_, restart);
  } catch (const EnvironmentError& error) {
    std::cerr << "warn  " << error.what() << std::endl;  // the job is worth more than its history
  }
  if (!wait) {
    std::cerr << fmt::format("gangway: {}; to go on: {}", restart.answer, job_.resume_command())
              << std::endl;
    return false;
  }
  std::cout << "again  " << restart.answer << std::endl;
  std::this_thread::sleep_for(*wait);
  return true;
}

}  // namespace gangway::launch
