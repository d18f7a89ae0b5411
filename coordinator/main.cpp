// SPDX-License-Identifier: MIT
// gangway-coordinator: rank 0 of a job. Called by `gangway train` under mpirun. Reads environment
// and command line and connects the parts. Turns every failure into one line, a status file and an
// exit code.
#include <csignal>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <boost/asio/post.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "base/atomic_file.hpp"
#include "base/build_id.hpp"
#include "base/environment.hpp"
#include "base/errors.hpp"
#include "base/process_identity.hpp"
#include "base/this_host.hpp"
#include "comm/transport/mpi_session.hpp"
#include "coordinator/control/control_server.hpp"
#include "coordinator/core/score_watch.hpp"
#include "coordinator/http/live_page.hpp"
#include "coordinator/io/checkpoint_scorer.hpp"
#include "coordinator/io/event_loop.hpp"
#include "coordinator/io/own_place.hpp"
#include "coordinator/io/waiting_workers.hpp"
#include "coordinator/resume/start.hpp"
#include "coordinator/settings.hpp"
#include "coordinator/start_watch.hpp"
#include "run/control/control_file.hpp"
#include "run/control_protocol.hpp"
#include "run/tether.hpp"
#include "run/unrecorded_end.hpp"

namespace gangway::coordinator {
namespace {

struct Options {
  StartOptions start;
  std::filesystem::path request;  ///< RUN/request.json, still unread; empty: none
  InheritedTether tether;

  [[nodiscard]] std::chrono::milliseconds start_deadline() const {
    return std::chrono::milliseconds(static_cast<std::int64_t>(start.start_deadline * 1000.0));
  }
};

// Backup in case the StartWatch, which gives the reason, does not end the process.
constexpr std::chrono::seconds kAfterStartWatch{10};

// Limit for an awaited score, because workers wait for a lease no longer than kLeaseDeadline.
constexpr std::chrono::seconds kAwaitedScore = kLeaseDeadline - std::chrono::seconds(60);

/// Unblocks the signals that `gangway train` blocks until the coordinator handles them.
void unblock_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGUSR1, SIGUSR2, SIGTERM, SIGINT}) {
    sigaddset(&set, signal);
  }
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

void save_and_leave() { ::kill(::getpid(), SIGTERM); }

/// Objects that exist from before the job is read until the process ends.
struct ProcessParts {
  boost::asio::io_context& io;
  boost::asio::signal_set& signals;
  const comm::MpiSession& session;
  MpiControl& mpi;
  Tether& tether;
};

/// Opens the control service; null if the job has none. A socket that cannot be made only costs a
/// warning, unless the job asks for it.
std::unique_ptr<ControlServer> open_control(const StartedRun& run, EventLoop& loop,
                                            RunRecorder& recorder, boost::asio::io_context& io) {
  const OutputSpec& spec = run.spec.output;
  if (spec.control == "off") {
    remove_control(run.directory);
    return nullptr;
  }
  try {
    auto control = std::make_unique<ControlServer>(
        ControlSettings{.run_directory = run.directory,
                        .address = spec.control,
                        .certificate = spec.control_certificate,
                        .key = spec.control_key,
                        .runtime_directory = environment("XDG_RUNTIME_DIR")},
        ControlHandlers{
            .status = [&loop] { return loop.status(); },
            .obey = [&loop](const Command& command,
                            const auto& answered) { loop.obey(command, answered); },
            .post = [&io](std::function<void()> call) { boost::asio::post(io, std::move(call)); }});
    recorder.set_listener(
        [&service = *control](const std::string& line) { service.publish(line); });
    return control;
  } catch (const EnvironmentError& error) {
    if (spec.control != "auto") {
      throw;
    }
    recorder.say(fmt::format("note   this job cannot be steered: {}", error.what()));
    return nullptr;
  }
}

RunCoreSettings settings_of(const Options& options, const StartedRun& run, int num_workers,
                            const LifelineServer& lifelines) {
  RunCoreSettings settings = run_core_settings(run, num_workers);
  settings.build = build_id();
  settings.welcome.lifeline = lifelines.address();
  if (options.start.memory_may_go) {
    settings.copied_by_rank_0 = shared_memory_identity();
  }
  settings.go_on = go_on_advice(options.start, run.directory);
  settings.is_supervised = options.tether.socket >= 0;
  settings.limits.start = options.start_deadline();
  return settings;
}

RunEnd run_job(const Options& options, ProcessParts parts, StartedRun& run, const Identity& self) {
  const StartOptions& asked = options.start;
  LifelineServer lifelines(
      parts.io,
      {.reach = asked.is_one_host ? BindScope::kThisHost : BindScope::kEveryHost,
       .port = asked.lifeline_port,
       .networks = networks_of_the_hosts()},
      parts.session.size() - 1);
  const auto page = open_live_page(run.spec.output,
                                   {.run_directory = run.directory,
                                    .host = self.host,
                                    .version = GANGWAY_VERSION,
                                    .incarnation = run.start.incarnation},
                                   [](const std::string& line) { std::cout << line << std::endl; });
  const Viewers viewers = page ? page->viewers() : Viewers();
  RunRecorder recorder(
      run, {asked.command, asked.resume_command}, self,
      {.out = std::cout, .err = std::cerr, .bar_columns = asked.bar_columns, .viewers = viewers});
  recorder.show_header();
  if (!asked.is_one_host) {
    recorder.say(fmt::format("net    workers reach the coordinator at {}, port {}",
                             with_interfaces(lifelines.address().hosts), lifelines.address().port));
  }
  if (page) {
    recorder.say(page->line());
  }
  if (run.spec.evaluation.where == ScorePlace::kSpare) {
    recorder.say(
        fmt::format("score  left to: gangway evaluate {} --follow", run.directory.string()));
  }
  ResumeChoice choice(
      run, asked, [&recorder](const std::string& line) { recorder.say(line); },
      [&run](std::int64_t step) {
        return ScoreWatch(score_plan(run.spec)).unscored_steps(run.decisions, step);
      });
  RunCoreSettings settings = settings_of(options, run, parts.session.size() - 1, lifelines);
  CheckpointScorer scorer(
      {.program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "gangway-model",
       .run_directory = run.directory,
       .where = run.spec.evaluation.where,
       .limit = settings.scores.is_any() ? kAwaitedScore : ScorerSettings{}.limit});
  std::unique_ptr<ControlServer> control;
  EventLoop loop({.io = parts.io,
                  .signals = parts.signals,
                  .mpi = parts.mpi,
                  .lifelines = lifelines,
                  .recorder = recorder,
                  .choice = choice,
                  .scorer = scorer,
                  .tether = parts.tether,
                  .show_status = viewers.status,
                  .watch =
                      [&control](const Effect& effect) {
                        if (const auto* tick = std::get_if<ShowTick>(&effect); tick && control) {
                          control->publish(tick->tick);
                        }
                      }},
                 std::move(settings));
  control = open_control(run, loop, recorder, parts.io);
  const RunEnd end = loop.run();
  if (page && ((run.goes_on && end.is(ExitCode::kWorkerLost)) || end.resize || end.rolled_back)) {
    page->leave_place();
  }
  recorder.set_listener([](const std::string&) {});
  control.reset();
  if (end.is_orderly) {
    lifelines.close_all();
  }
  return end;
}

/// Exchanges a message between two ranks; `gangway doctor` runs it under mpirun.
int smoke_test() {
  constexpr std::chrono::seconds kLimit{20};
  comm::MpiSession session;
  MpiControl mpi(session);
  mpi.send({Rank((session.rank().value() + 1) % session.size())}, "hello");
  const auto end = std::chrono::steady_clock::now() + kLimit;
  while (!mpi.poll()) {
    if (std::chrono::steady_clock::now() > end) {
      throw EnvironmentError(
          fmt::format("rank {}: no message came within {} s", session.rank(), kLimit.count()));
    }
    std::this_thread::yield();
  }
  session.finalize(0);
  return 0;
}

/// Ends the job in one line before the first Welcome; the workers leave in order.
int refuse(comm::MpiSession& session, MpiControl& mpi, int exit_code, const std::string& line) {
  if (refuse_workers(mpi, session.size() - 1, exit_code, line)) {
    session.finalize(exit_code);
  }
  return exit_code;
}

std::string finished_line(const StartedRun& run) {
  return run.end_step < run.spec.total_steps()
             ? fmt::format(
                   "finished: {} stopped early at step {} (gangway events says why); with "
                   "checkpoint.early_stop.patience=0 it trains on",
                   run.directory.string(), run.end_step)
             : fmt::format("finished: {} reached {} kimg; raise training.kimg to train on",
                           run.directory.string(), run.spec.training.kimg);
}

int coordinate(Options options) {
  const Identity self{.host = host_name(), .pid = ::getpid()};
  boost::asio::io_context io;
  boost::asio::signal_set signals(io, SIGUSR1, SIGUSR2,
                                  SIGTERM);  // before MPI: signals wait for the loop
  signals.add(SIGINT);
  unblock_signals();
  Tether tether({.inherited = options.tether,
                 .meeting = options.start_deadline() + kAfterStartWatch,
                 .on_orphaned = save_and_leave});
  StartWatch watch(io, signals, options.start_deadline(), options.start.run_directory);
  comm::MpiSession session;
  MpiControl mpi(session);
  tether.met();
  watch.end();
  const int num_workers = session.size() - 1;
  if (num_workers < 1) {
    throw EnvironmentError(
        "no workers: MPI has one rank only; start with 'gangway run', 'mpirun -n 3 gangway train "
        "JOB.yaml' "
        "or, under Slurm, 'srun --mpi=pmix'");
  }
  std::optional<std::filesystem::path> directory;
  try {
    if (!options.request.empty()) {
      static_cast<StartRequest&>(options.start) = read_request(options.request);
    }
    StartedRun run = open_job(options.start, num_workers);
    directory = run.directory;
    while_workers_wait(mpi, num_workers, [&] {
      find_start(run, options.start,
                 [](const std::string& line) { std::cout << line << std::endl; });
    });
    if (run.is_finished()) {
      const std::string line = finished_line(run);
      std::cout << line << std::endl;
      try_write_status(run.directory, {.exit_code = 0, .reason = line});
      return refuse(session, mpi, 0, line);
    }
    const RunEnd end = run_job(
        options, {.io = io, .signals = signals, .session = session, .mpi = mpi, .tether = tether},
        run, self);
    if (end.is_orderly) {
      session.finalize(end.exit_code);
    }
    return end.exit_code;
  } catch (const Error& error) {
    std::cerr << "gangway: " << error.what() << std::endl;
    const int code = static_cast<int>(error.code());
    if (directory) {
      try_write_status(*directory, {.exit_code = code, .reason = error.what()});
    } else if (!options.start.run_directory.empty()) {
      std::cerr << unrecorded_end_line(code, "the run directory is not this job's") << std::endl;
    }
    return refuse(session, mpi, code, error.what());
  }
}

}  // namespace
}  // namespace gangway::coordinator

int main(int argc, char** argv) {
  using namespace gangway;  // NOLINT: main is not a header
  int code = static_cast<int>(ExitCode::kInternal);
  try {
    const std::vector<std::string> words(argv + 1, argv + argc);
    const std::string request = words.empty() ? "" : words.front();
    coordinator::Options options{.start = {}, .request = {}, .tether = inherited_tether(words)};
    if (request.starts_with('{')) {
      static_cast<StartRequest&>(options.start) = parse_request(request, "the request");
      options.start.environment = gangway_variables(read_environment());
    } else {
      options.request = request;
      options.start.run_directory = options.request.parent_path();
    }
    options.start.is_one_host = coordinator::all_ranks_are_here();
    options.start.memory_may_go =
        !options.start.is_one_host || !coordinator::environment("SLURM_JOB_ID").empty();
    code = request == "--smoke-test" ? coordinator::smoke_test() : coordinator::coordinate(options);
  } catch (const Error& error) {
    std::cerr << "gangway: " << error.what() << std::endl;
    code = static_cast<int>(error.code());
  } catch (const std::exception& error) {
    std::cerr << "gangway: internal: " << error.what() << std::endl;
  }
  std::cout << std::flush;
  // Skips MPI's destructors: after a loss they would wait for ranks that no longer exist.
  ::_exit(code);
}
