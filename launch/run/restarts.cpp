// SPDX-License-Identifier: MIT
#include "launch/run/restarts.hpp"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/system/poll_until.hpp"
#include "base/time.hpp"
#include "launch/mpirun/mpirun_command.hpp"
#include "run/restart_file.hpp"
#include "run/run_files.hpp"
#include "run/run_start.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;

/// Prints that the job starts, and its (long) command if requested.
void tell_start(const SupervisedJob& job) {
  std::cout << fmt::format("start  {} processes by mpirun", job.ranks)
            << (job.tells_command ? ": " + shell_line(job.command) : "") << std::endl;
}

/// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): a handler's
volatile std::sig_atomic_t is_noted = 0;

extern "C" void note_signal(int signal) { is_noted = is_noted != 0 || signal != SIGUSR2 ? 1 : 0; }

}  // namespace

Restarter::Restarter(Starts& starts, fs::path run, int most)
    : starts_(starts),
      run_(std::move(run)),
      recovery_(most, read_run_start(run_).value_or(RunStart{}).incarnation),
      job_(starts.first(recovery_.goes_on())) {
  ::sigprocmask(SIG_BLOCK, nullptr, &job_.signals);
}

int Restarter::supervise_all() {
  while (true) {
    tell_start(job_);
    const auto begin = std::chrono::steady_clock::now();
    const RunEnd end = supervise(job_);
    note_signals();
    RunStart start;
    once_disk_allows([&] { start = read_run_start(run_).value_or(RunStart{}); });
    const Next next = recovery_.next(end, std::move(start));
    if (next == Next::kEnd) {
      return end.exit_code;
    }
    if (next == Next::kLeave) {
      return leave();
    }
    if (next == Next::kAfterLoss) {
      if (!go_on_after(end, seconds(std::chrono::steady_clock::now() - begin))) {
        starts_.keep_snapshots();
        return end.exit_code;
      }
    } else if (next == Next::kAfterResize) {
      starts_.after_resize(job_, *end.resize);
    } else {
      once_disk_allows([&] { starts_.after_rollback(job_); });
    }
    once_disk_allows([&] {
      clear_status(run_);
      fs::remove(run_ / kPlacementFile);
    });
    if (is_to_leave()) {
      return leave();
    }
  }
}

void Restarter::once_disk_allows(const std::function<void()>& work) {
  constexpr std::chrono::seconds kLongest{300};
  constexpr std::chrono::seconds kBetween{10};
  for (const auto end = std::chrono::steady_clock::now() + kLongest;;) {
    try {
      return work();
    } catch (const std::exception& error) {
      const bool may_pass = dynamic_cast<const EnvironmentError*>(&error) != nullptr ||
                            dynamic_cast<const fs::filesystem_error*>(&error) != nullptr;
      if (!may_pass || is_noted != 0 || std::chrono::steady_clock::now() >= end) {
        throw;
      }
      std::cerr << "warn  " << error.what() << ": tried again in " << kBetween.count() << " s"
                << std::endl;
    }
    wait_for(kBetween);
  }
}

void Restarter::note_signals() const {
  const sigset_t signals = signals_of_a_job();
  for (int signal = 1; signal < NSIG; ++signal) {
    if (sigismember(&signals, signal) == 1) {
      (void)std::signal(signal, note_signal);
    }
  }
  ::sigprocmask(SIG_SETMASK, &job_.signals, nullptr);  // children must not inherit a blocked mask
}

void Restarter::wait_for(std::chrono::milliseconds wait) {
  constexpr std::chrono::milliseconds kLook{50};
  (void)poll_until(wait, kLook, [] { return is_noted != 0; });
}

bool Restarter::is_to_leave() const {
  const sigset_t signals = signals_of_a_job();
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  return is_noted != 0;
}

int Restarter::leave() const {
  const std::string reason = "stopped on request before the restart: the same command continues";
  std::cerr << "gangway: " << reason << std::endl;
  write_status(run_, ended_by(ExitCode::kPreempted, reason));
  starts_.keep_snapshots();
  return static_cast<int>(ExitCode::kPreempted);
}

bool Restarter::go_on_after(const RunEnd& end, double ran_seconds) {
  const double ended = unix_seconds();
  Rank lost = end.rank;
  auto [restart, wait] = recovery_.answer(end, starts_.host_allocator(), [&] {
    bool is_chosen = false;
    once_disk_allows([&] {  // `exchange` blames the host only once
      is_chosen = starts_.after_loss(job_, std::exchange(lost, Rank()), recovery_.goes_on(),
                                     [](std::chrono::milliseconds time) {
                                       wait_for(time);
                                       return is_noted == 0;
                                     });
    });
    return is_chosen;
  });
  restart.unix_seconds = ended;
  restart.ran_seconds = ran_seconds;
  try {
    append_restart(run_, restart);
  } catch (const EnvironmentError& error) {
    std::cerr << "warn  " << error.what() << std::endl;  // the restart matters more than its record
  }
  if (!wait) {
    std::cerr << fmt::format("gangway: {}; to resume: {}", restart.answer, job_.resume_command())
              << std::endl;
    return false;
  }
  std::cout << "again  " << restart.answer << std::endl;
  wait_for(*wait);
  return true;
}

}  // namespace gangway::launch
