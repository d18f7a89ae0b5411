// SPDX-License-Identifier: MIT
#include "launch/run/restarts.hpp"

#include <chrono>
#include <filesystem>
#include <iostream>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/errors.hpp"
#include "base/time.hpp"
#include "launch/mpirun/mpirun_command.hpp"
#include "run/restart_file.hpp"
#include "run/run_files.hpp"
#include "run/run_start.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;

/// Whether the job has ended to be started again.
bool is_to_go_on(const std::optional<RunStatus>& status, int exit_code) {
  return status && status->exit_code == exit_code &&
         ((exit_code == static_cast<int>(ExitCode::kDiverged) && status->rolled_back) ||
          (exit_code == static_cast<int>(ExitCode::kPreempted) && status->workers > 0));
}

/// Says that the job starts, and by which command where that is asked for: it is long.
void tell_start(const SupervisedJob& job) {
  std::cout << fmt::format("start  {} processes by mpirun", job.ranks)
            << (job.tells_command ? ": " + shell_line(job.command) : "") << std::endl;
}

}  // namespace

Restarter::Restarter(Starts& starts, fs::path run, int most)
    : starts_(starts),
      run_(std::move(run)),
      book_(most),
      is_on_(most != 0),
      job_(starts.first(book_.goes_on())),
      lost_start_(read_run_start(run_).value_or(RunStart{}).incarnation) {
  ::sigprocmask(SIG_BLOCK, nullptr, &signals_before_);
}

int Restarter::supervise_all() {
  while (true) {
    tell_start(job_);
    const auto begin = std::chrono::steady_clock::now();
    const SupervisedEnd end = supervise(job_);
    const auto status = read_status(run_);
    const bool is_lost =
        is_on_ && !end.was_to_leave && end.exit_code == static_cast<int>(ExitCode::kWorkerLost);
    if (!is_lost && !is_to_go_on(status, end.exit_code)) {
      return end.exit_code;
    }
    if (end.was_to_leave) {
      return leave();
    }
    // The supervisor keeps signals back, and the next one's mpirun would inherit that. One that has
    // come since ends this process here: nothing runs, and the same command goes on.
    ::sigprocmask(SIG_SETMASK, &signals_before_, nullptr);
    if (is_lost) {
      if (!go_on_after(end, seconds(std::chrono::steady_clock::now() - begin))) {
        return end.exit_code;
      }
    } else if (status->workers > 0) {
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
  RunStart start = read_run_start(run_).value_or(RunStart{});
  if (std::exchange(lost_start_, start.incarnation) == start.incarnation) {
    start.begun.reset();  // of the one before: this did not come as far as the coordinator
  }
  Restart restart{.unix_seconds = unix_seconds(),
                  .start = start.incarnation,
                  .begun = start.begun,
                  .ran_seconds = ran_seconds,
                  .why = end.reason,
                  .host = starts_.host_of(end.lost),
                  .left_out = {},
                  .workers = 0,
                  .answer = {}};
  const auto wait = book_.lost(restart.begun);
  const bool can = wait && starts_.after_loss(job_, end.lost, book_.goes_on());
  if (can) {
    restart.left_out = starts_.lineup().left_out;
    restart.workers = starts_.lineup().workers;
    restart.answer = fmt::format(
        "started again with {} worker{}{}{}", restart.workers, restart.workers == 1 ? "" : "s",
        restart.left_out.empty() ? ""
                                 : fmt::format(", without {}", fmt::join(restart.left_out, ", ")),
        wait->count() > 0 ? fmt::format(", after {} s", wait->count() / 1000) : "");
  } else {
    restart.answer = wait ? "given up: too few workers are left (layout.min_workers)"
                          : "given up: " + book_.why_not();
  }
  try {
    append_restart(run_, restart);
  } catch (const EnvironmentError& error) {
    std::cerr << "warn  " << error.what() << std::endl;  // the job is worth more than its history
  }
  if (!can) {
    std::cerr << fmt::format("gangway: {}; to go on: {}", restart.answer, job_.resume_command())
              << std::endl;
    return false;
  }
  std::cout << "again  " << restart.answer << std::endl;
  std::this_thread::sleep_for(*wait);
  return true;
}

}  // namespace gangway::launch
