// SPDX-License-Identifier: MIT
#include "launch/profile/together.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/errors.hpp"
#include "base/file_descriptor.hpp"
#include "launch/profile/one_worker.hpp"
#include "plan/profiles/profile.hpp"

namespace gangway::launch {
namespace {

constexpr int kRounds = 2;
constexpr int kWarmUpBeside = 3;
constexpr std::size_t kFewestBeside = 3;

struct Pipe {
  FileDescriptor out;
  FileDescriptor in;
};

Pipe open_pipe() {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) {
    throw EnvironmentError("no pipe to a process that measures: too many open files?");
  }
  return {.out = FileDescriptor(ends[0]), .in = FileDescriptor(ends[1])};
}

/// Trains beside other processes: reports ready, waits for all, then measures.
double measured_beside(const JobSpec& job, double seconds, int ready, int go) {
  OneWorker worker(job, std::make_unique<worker::CpuDevice>(job));
  for (int step = 0; step < kWarmUpBeside; ++step) {
    (void)worker.run_step();
  }
  char word = 'r';
  if (::write(ready, &word, 1) != 1 || ::read(go, &word, 1) < 0) {
    return 0.0;
  }
  std::vector<double> steps;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (steps.size() < kFewestBeside || std::chrono::steady_clock::now() < end) {
    steps.push_back(worker.run_step());
  }
  return plan::timing_of(std::move(steps)).seconds;
}

/// A measuring process.
struct Process {
  pid_t pid = 0;
  FileDescriptor said;  ///< sends 'r' when ready, then its median
};

Process begin_process(const JobSpec& job, double seconds, const Pipe& go) {
  Pipe said = open_pipe();
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) {
    throw EnvironmentError("no process that measures could be started");
  }
  if (child != 0) {
    return {.pid = child, .said = std::move(said.out)};
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) {
    ::_exit(EXIT_FAILURE);  // the parent ended before prctl()
  }
  ::close(go.in.get());  // lets the parent's close end the read
  double median = 0.0;
  try {
    median = measured_beside(job, seconds, said.in.get(), go.out.get());
  } catch (const std::exception&) {
    ::_exit(EXIT_FAILURE);  // the parent reports the failure
  }
  const bool is_told = ::write(said.in.get(), &median, sizeof median) == sizeof median;
  ::_exit(is_told && median > 0.0 ? EXIT_SUCCESS : EXIT_FAILURE);
}

/// Returns the mean of the processes' medians.
double step_seconds(const JobSpec& job, int count, double seconds) {
  Pipe go = open_pipe();
  std::vector<Process> processes;
  for (int i = 0; i < count; ++i) {
    processes.push_back(begin_process(job, seconds, go));
  }
  bool is_sound = true;
  for (const Process& process : processes) {
    char word = 0;
    is_sound = ::read(process.said.get(), &word, 1) == 1 && is_sound;
  }
  go.in = FileDescriptor();  // closing it lets all processes begin
  double sum = 0.0;
  for (const Process& process : processes) {
    double median = 0.0;
    int status = 0;
    is_sound = ::read(process.said.get(), &median, sizeof median) == sizeof median && is_sound;
    is_sound = ::waitpid(process.pid, &status, 0) == process.pid && status == 0 && is_sound;
    sum += median;
  }
  if (!is_sound) {
    throw EnvironmentError(fmt::format(
        "one of {} processes that measure together failed; is there memory for so many?", count));
  }
  return sum / count;
}

}  // namespace

std::vector<double> slowdown_together(const JobSpec& job, int most, double seconds,
                                      const MeasuredSeconds& tell) {
  std::vector<double> best(static_cast<std::size_t>(most), 0.0);
  for (int round = 0; round < (most > 1 ? kRounds : 0); ++round) {
    for (int processes = 1; processes <= most; ++processes) {
      const std::string what =
          processes == 1 ? "one process alone" : fmt::format("{} processes together", processes);
      tell(0.0, what);
      const double measured = step_seconds(job, processes, seconds);
      tell(processes * seconds, what);
      double& least = best[static_cast<std::size_t>(processes - 1)];
      least = round == 0 ? measured : std::min(least, measured);
    }
  }
  std::vector<double> factors{1.0};
  for (std::size_t i = 1; i < best.size(); ++i) {
    factors.push_back(std::max(1.0, best[i] / best.front()));
  }
  return factors;
}

}  // namespace gangway::launch
