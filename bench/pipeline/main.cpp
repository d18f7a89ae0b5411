// SPDX-License-Identifier: MIT
// gangway-bench-pipeline: one rank of an emulated pipeline, under mpirun with one rank more than
// devices. Rank 0 says when to begin, and prints; bench/pipeline/run.py starts it.
#include <array>
#include <span>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/errors.hpp"
#include "bench/pipeline/emulated_case.hpp"
#include "bench/pipeline/emulated_figures.hpp"
#include "bench/run_bench.hpp"
#include "comm/transport/mpi_session.hpp"
#include "comm/transport/mpi_transport.hpp"

namespace gangway::bench {
namespace {

constexpr int kReporter = -1;  // rank 0, as workers see it
constexpr std::chrono::milliseconds kUntilBeginning{50};

struct Options {
  CaseOptions emulated;
  std::vector<std::string> schedules{"by-pass", "1f1b", "fill", "one-leaf"};
  int repeats = 1;
  double timeout_seconds = 30.0;
  [[nodiscard]] std::chrono::milliseconds timeout() const {
    return std::chrono::milliseconds(static_cast<int>(timeout_seconds * 1000.0));
  }
};

Options parse(int argc, char** argv, int devices) {
  Options options;
  CaseOptions& emulated = options.emulated;
  CLI::App app("One rank of an emulated pipeline, under mpirun", "gangway-bench-pipeline");
  app.add_option("--job", emulated.job, "Whose phases; default: a plain GAN of equal chunks");
  app.add_option("--set", emulated.overrides, "key=value of the job");
  app.add_option("--profile", emulated.profile, "What `gangway profile` wrote of the job");
  app.add_option("--copies", emulated.copies)->check(CLI::Range(1, 64));
  app.add_option("-m,--microbatches", emulated.microbatches)->check(CLI::Range(1, 256));
  app.add_option("--r1-interval", emulated.r1_interval)->check(CLI::Range(0, 1000));
  app.add_option("--steps", emulated.steps)->check(CLI::Range(1, 1000));
  app.add_option("--step-seconds", emulated.step_seconds)->check(CLI::Range(0.001, 100.0));
  app.add_option("--hop-seconds", emulated.hop_seconds)->check(CLI::Range(0.0, 1.0));
  app.add_option("--schedules", options.schedules)->delimiter(',');
  app.add_option("--repeats", options.repeats)->check(CLI::Range(1, 100));
  app.add_option("--timeout", options.timeout_seconds)->check(CLI::Range(0.1, 3600.0));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    throw ConfigError(fmt::format("{}: see bench/pipeline/run.py --help", error.what()));
  }
  if (devices < 1) {
    throw ConfigError("start it under mpirun, with one rank more than devices");
  }
  emulated.devices = devices;
  return options;
}

/// Small messages between rank 0 and the devices.
class ReportLine {
 public:
  ReportLine(comm::Transport& transport, std::chrono::milliseconds timeout)
      : transport_(transport), timeout_(timeout) {}

  template <class T>
  void tell(int peer, const T& values) {
    const std::span<const std::byte> bytes = std::as_bytes(std::span(values));
    wait_patiently(transport_, transport_.start_send(peer, tag(), bytes), timeout_,
                   fmt::format("the end of a word to worker {}", peer));
  }
  template <class T>
  void hear(int peer, T& values, std::chrono::milliseconds work = {}) {
    const std::span<std::byte> bytes = std::as_writable_bytes(std::span(values));
    wait_patiently(transport_, transport_.start_receive(peer, tag(), bytes), timeout_ + work,
                   fmt::format("a word of worker {}", peer));
  }

 private:
  [[nodiscard]] comm::MessageTag tag() const {
    return {transport_.epoch(), 0, comm::MessageKind::kScalars, 0, 0};
  }
  comm::Transport& transport_;
  std::chrono::milliseconds timeout_;
};

/// What a device tells: end, busy, sent, received, stored, leaves.
using DeviceWords = std::array<double, 6>;

void run_device(EmulatedDevice& device, ReportLine& line) {
  const std::array<std::int64_t, 1> ready{1};
  line.tell(kReporter, ready);
  std::array<std::int64_t, 1> beginning{};
  line.hear(kReporter, beginning);
  const DeviceFigures figures = device.run(Clock::time_point(Clock::duration(beginning[0])));
  const DeviceWords words{figures.end,
                          figures.busy_seconds,
                          static_cast<double>(figures.sent),
                          static_cast<double>(figures.received),
                          static_cast<double>(figures.peak_stored),
                          static_cast<double>(figures.peak_leaves)};
  line.tell(kReporter, words);
  line.tell(kReporter, figures.starts);
}

std::vector<DeviceFigures> watch_devices(const pipeline::StageSchedule& schedule, ReportLine& line,
                                         double seconds) {
  const int count = static_cast<int>(schedule.workers.size());
  std::array<std::int64_t, 1> word{};
  for (int worker = 0; worker < count; ++worker) {
    line.hear(worker, word);
  }
  word[0] = (Clock::now() + kUntilBeginning).time_since_epoch().count();
  for (int worker = 0; worker < count; ++worker) {
    line.tell(worker, word);
  }
  std::vector<DeviceFigures> devices;
  for (int worker = 0; worker < count; ++worker) {
    DeviceWords words{};
    line.hear(worker, words, std::chrono::milliseconds(static_cast<int>(seconds * 2e3)));
    DeviceFigures& one = devices.emplace_back();
    one = {.end = words[0],
           .busy_seconds = words[1],
           .sent = static_cast<std::int64_t>(words[2]),
           .received = static_cast<std::int64_t>(words[3]),
           .peak_stored = static_cast<int>(words[4]),
           .peak_leaves = static_cast<int>(words[5])};
    one.starts.resize(schedule.workers[static_cast<std::size_t>(worker)].size());
    line.hear(worker, one.starts);
  }
  return devices;
}

void print_all(const Options& options, const std::vector<pipeline::Simulation>& simulations,
               const std::vector<std::vector<RunFigures>>& runs) {
  const CaseOptions& of = options.emulated;
  fmt::print("{} emulated devices, {} micro-batches, {} steps{}, median of {}\n", of.devices,
             of.microbatches, of.steps,
             of.r1_interval > 0 ? fmt::format(", R1 every {}", of.r1_interval) : "",
             options.repeats);
  fmt::print("{}\n", header_line());
  double by_pass = 0.0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (options.schedules[i] == "by-pass") {
      by_pass = median_step(runs[i]);
    }
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    fmt::print("{}\n", figures_line(options.schedules[i], simulations[i], runs[i], by_pass));
  }
}

int run(int argc, char** argv) {
  // The kernel's default slack of 50 us would lengthen short sleeps.
  (void)::prctl(PR_SET_TIMERSLACK, 1000UL);
  comm::MpiSession session;
  const Options options = parse(argc, argv, session.size() - 1);
  const EmulatedCase emulated = make_case(options.emulated);
  comm::MpiTransport transport(session, 0, [] {});
  ReportLine line(transport, options.timeout());
  std::vector<pipeline::StageSchedule> schedules;
  std::vector<pipeline::Simulation> simulations;
  for (const std::string& name : options.schedules) {
    schedules.push_back(
        proved_schedule(emulated, schedule_options(name, options.emulated.microbatches)));
    simulations.push_back(
        pipeline::simulate(schedules.back(), emulated.costs, pipeline::SimulatedStarts::kKept));
  }
  std::vector<std::vector<RunFigures>> runs(schedules.size());
  for (int repeat = 0; repeat < options.repeats; ++repeat) {
    for (std::size_t i = 0; i < schedules.size(); ++i) {
      if (session.rank() == 0) {
        runs[i].push_back(run_figures(schedules[i], simulations[i],
                                      watch_devices(schedules[i], line, simulations[i].seconds)));
      } else {
        EmulatedDevice device({.transport = transport,
                               .schedule = schedules[i],
                               .costs = emulated.costs,
                               .names = emulated.names,
                               .timeout = options.timeout()});
        run_device(device, line);
      }
    }
  }
  if (session.rank() == 0) {
    print_all(options, simulations, runs);
    (void)std::fflush(stdout);
  }
  session.finalize(0);
  return 0;
}

}  // namespace
}  // namespace gangway::bench

int main(int argc, char** argv) {
  return gangway::bench::run_bench("gangway-bench-pipeline",
                                   [&] { return gangway::bench::run(argc, argv); });
}
