// SPDX-License-Identifier: MIT
#include "worker/worker_program.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include "base/build_id.hpp"
#include "base/environment.hpp"
#include "base/errors.hpp"
#include "base/guarded.hpp"
#include "base/message_segments.hpp"
#include "base/process_identity.hpp"
#include "base/shared_segment.hpp"
#include "base/this_host.hpp"
#include "checkpoint/snapshots/snapshot_files.hpp"
#include "comm/lane.hpp"
#include "comm/transport/mpi_abort.hpp"
#include "comm/transport/mpi_session.hpp"
#include "comm/transport/mpi_transport.hpp"
#include "comm/transport/peer_error.hpp"
#include "data/contents/file_contents.hpp"
#include "gan/kernels/library_warnings.hpp"
#include "job/file/parse.hpp"
#include "job/modules/module_files.hpp"
#include "python/open/python_library.hpp"
#include "report/line_limit.hpp"
#include "report/log_file.hpp"
#include "run/control_protocol.hpp"
#include "run/tether.hpp"
#include "worker/arithmetic/arithmetic_facts.hpp"
#include "worker/arithmetic/hold_processor.hpp"
#include "worker/generation.hpp"
#include "worker/link/channel_link.hpp"
#include "worker/link/lifeline.hpp"
#include "worker/link/mpi_control_channel.hpp"
#include "worker/link/start_progress.hpp"
#include "worker/memory/out_of_memory.hpp"

namespace gangway::worker {
namespace {

constexpr int kShownLines = 500;  // of the user's Python, on the terminal

/// Long, because other workers may wait for their disks; the coordinator has its own deadlines.
constexpr std::chrono::hours kOthersDeadline{24};

/// Longer than the kStartDeadline of all others, so that one of them reports the cause.
constexpr std::chrono::milliseconds kMeetingDeadline = kStartDeadline + std::chrono::seconds(5);
/// Longest time in which a stopped worker may still copy its snapshots to the disk.
constexpr std::chrono::seconds kLastWords{10};
/// Extra time, so that a supervisor, if any, finds a hanging coordinator before the workers do.
constexpr std::chrono::seconds kAfterSupervisor{5};

/// Keeps freed memory in the process, because the next step needs it again. malloc returns blocks
/// of more than 32 MiB to the kernel, which zeroes their pages again: 10 to 20 % of a large model's
/// step (docs/measurements.md).
void keep_freed_memory() {
  (void)mallopt(M_MMAP_MAX, 0);
  (void)mallopt(M_TRIM_THRESHOLD, -1);
}

/// Ends the process without MPI_Finalize, which may wait for ever for a lost rank.
[[noreturn]] void leave(ExitCode code) {
  (void)std::fflush(nullptr);
  _exit(static_cast<int>(code));
}

/// Returns the Stop message that tells the coordinator why this worker cannot go on.
messages::Stop stop_for(const Error& error) {
  const std::optional<WorkerIndex> accused = comm::accused_by(error);
  const auto* diverged = dynamic_cast<const DivergedError*>(&error);
  return {.exit_code = static_cast<int>(error.code()),
          .reason = error.what(),
          .accused = accused ? rank_of(*accused) : Rank(),
          .step = diverged == nullptr ? 0 : diverged->step()};
}

/// The device that the program computes on.
struct Computing {
  const char* device;
  const DeviceMaker& make;
  const std::function<std::string()>& network;
  gan::LibraryWarnings* warnings;
  const FailedRequests* requests;
};

/// Saves a worker's snapshots to the disk before it leaves a failed run. Skipped if the coordinator
/// copies them from shared memory, or the run restarts by itself. Any thread; a second caller waits
/// for the first.
class SnapshotSaver {
 public:
  explicit SnapshotSaver(const messages::Welcome& welcome)
      : is_mine_(welcome.copies_snapshots), goes_on_(welcome.goes_on) {}
  /// @param training  whose snapshots are to be saved; null: none any more
  void begin(const Training* training) {
    const MutexLock lock(mutex_);
    training_ = training;
  }
  /// @param lifeline  reports progress to the coordinator
  /// @param keep  the coordinator's decision; nothing: it has made none
  void carry_out(const Lifeline& lifeline, std::optional<bool> keep = {}) {
    const MutexLock lock(mutex_);
    if (is_mine_ && keep.value_or(!goes_on_) && training_ != nullptr) {
      lifeline.say_keeping();
      training_->keep_snapshots([&lifeline] { lifeline.say_keeping(); });
    }
    training_ = nullptr;
  }

 private:
  bool is_mine_;
  bool goes_on_;
  Mutex mutex_;
  const Training* training_ GANGWAY_GUARDED_BY(mutex_) = nullptr;
};

/// State left after a finished run.
struct Finished {
  std::filesystem::path run_directory;
  SnapshotStore snapshots;
};

/// Reports `why` to the coordinator, runs `last` and ends the process. Destroys nothing first: open
/// receives still point into it, and the lifeline must not close before the report has left.
[[noreturn]] void fail(CoordinatorLink& link, spdlog::logger& log, const messages::Stop& why,
                       const std::function<void()>& last) {
  log.error("{}", why.reason);
  link.stop(why);
  last();
  leave(static_cast<ExitCode>(why.exit_code));
}

/// "new weights; from step 0".
std::string describe(const messages::Begin& begin) {
  return fmt::format(
      "{}; from step {}",
      begin.snapshot ? "a snapshot" : (begin.is_new() ? "new weights" : begin.checkpoint),
      begin.step);
}

/// Prepares the generation up to the first lease.
void begin(Generation& generation, const GenerationSetup& setup, spdlog::logger& log) {
  // Set on both computing threads: the lane runs the optimiser.
  const int threads = setup.job.numerics.threads;
  at::set_num_threads(threads);
  setup.lane.wait(setup.lane.submit([threads] { at::set_num_threads(threads); }));
  (void)reap_segments();  // of workers killed before all had mapped them
  (void)reap_message_segments();
  (void)checkpoint::reap_snapshots(kSharedMemoryFolder);
  Neighbours neighbours =
      find_neighbours(setup.job, setup.welcome.layout.transport, setup.welcome.lifeline.token,
                      setup.welcome.run_directory, setup.transport, setup.lane);
  log.info("{}", neighbours.summary);
  const std::string choice = neighbours.choice;
  messages::Ready ready = generation.begin(std::move(neighbours));
  ready.arithmetic.facts = arithmetic_facts(generation.device(), read_environment());
  log.info("computes on {}", generation.device().kind());
  for (const messages::ArithmeticFact& fact : ready.arithmetic.facts) {
    log.info("{}: {}", fact.name, fact.value);
  }
  log.info("bits of a trial micro-batch: {}", ready.arithmetic.bits);
  if (!choice.empty()) {
    ready.plan_summary += "; " + choice;
  }
  log.info("{}; {}", ready.plan_summary, describe(generation.begun().begin));
  setup.link.send(ready);
  if (setup.transport.worker() == 0) {
    python::note_packages(setup.welcome.run_directory);
  }
}

void tell_network(const Computing& computing, spdlog::logger& log) {
  if (const std::string told = computing.network ? computing.network() : ""; !told.empty()) {
    log.info("NCCL's network: {}", told);
  }
}

/// Returns the mount point of control groups; tests of whole runs replace it by their own folder.
std::filesystem::path control_groups_mount(const Environment& environment) {
  const auto found = environment.find("GANGWAY_CONTROL_GROUPS");
  return found == environment.end() ? kControlGroups : found->second;
}

std::chrono::milliseconds silence_limit(const Layout& layout) {
  const std::chrono::duration<double> timeout(layout.timeout_seconds);
  return std::chrono::ceil<std::chrono::milliseconds>(timeout) + kAfterSupervisor;
}

messages::Hello hello_of(Rank rank, const Computing& computing) {
  return {.rank = rank,
          .host = host_name(),
          .process = own_process(),
          .shared_memory = shared_memory_identity(),
          .device = computing.device,
          .build = std::string(build_id())};
}

/// Sends LibTorch's warnings to this worker's log while the log is open.
class LoggedWarnings {
 public:
  LoggedWarnings(gan::LibraryWarnings& warnings, spdlog::logger& log) : warnings_(warnings) {
    warnings_.tell_to([&log](const std::string& line) { log.warn("{}", line); });
  }
  LoggedWarnings(const LoggedWarnings&) = delete;
  LoggedWarnings& operator=(const LoggedWarnings&) = delete;
  ~LoggedWarnings() { warnings_.tell_to({}); }

 private:
  gan::LibraryWarnings& warnings_;
};

/// Returns the sink for lines that the user's Python prints. Every worker logs them, up to a rate;
/// the first worker also prints kShownLines of them to the terminal.
std::function<void(const std::string&)> python_lines(spdlog::logger& log, Rank rank) {
  return [&log, is_first = rank == Rank(1), shown = 0,
          limit = report::LineLimit()](const std::string& line) mutable {
    if (const auto left_out = limit.take(std::chrono::steady_clock::now())) {
      if (*left_out > 0) {
        log.info("python: {} lines are left out: more than {:g} a second", *left_out,
                 report::LineLimit::kEachSecond);
      }
      log.info("python: {}", line);
    }
    if (is_first && ++shown <= kShownLines) {
      fmt::print("python  {}\n{}", line,
                 shown == kShownLines ? "python  further lines are only in the log\n" : "");
    }
  };
}

Finished train(CoordinatorLink& link, const comm::MpiSession& session, comm::Lane& lane,
               MpiControlChannel& channel, Tether& tether, const Computing& computing) {
  const messages::Hello hello = hello_of(session.rank(), computing);
  const messages::Welcome welcome = link.join(hello, kStartDeadline);
  const std::unique_ptr<spdlog::logger> log =
      report::open_log_file(welcome.run_directory, session.rank());
  const LoggedWarnings logged(*computing.warnings, *log);
  log->info("rank {}, one of {} workers, pid {}", session.rank(), welcome.layout.num_workers(),
            hello.process.pid);
  StartProgress start;
  SnapshotSaver snapshot_saver(welcome);
  Lifeline lifeline(
      welcome.lifeline, session.rank(), kStartDeadline,
      [&](const std::string& reason, std::optional<bool> keep) {
        log->error("{}", reason);
        snapshot_saver.carry_out(lifeline, keep);
        leave(ExitCode::kWorkerLost);
      },
      [&lane, &start] {
        return lane.is_awaited() ? kHeartbeatInWait
               : start.gets_on() ? kHeartbeatInStart
                                 : kHeartbeat;
      });
  const auto keep = [&] {
    snapshot_saver.carry_out(lifeline, true);
  };  // such a run does not restart
  tether.settle();
  comm::survive_mpi_aborts();  // the lifeline reports a lost rank
  std::optional<JobSpec> job;
  std::unique_ptr<comm::Transport> transport;
  std::optional<Generation> generation;  // destroyed after a failure is reported
  Finished finished;
  try {
    job = parse_job(welcome.job_yaml, "job of the coordinator", welcome.run_directory);
    hold_processor(job->numerics.processor);
    use_kept_modules(*job, welcome.run_directory);
    python::open_python(*job, welcome.layout, python_lines(*log, session.rank()));
    transport = std::make_unique<comm::MpiTransport>(session, welcome.epoch,
                                                     [&channel] { channel.pump(); });
    const GenerationSetup setup{
        .job = *job,
        .options = *job,
        .welcome = welcome,
        .link = link,
        .transport = *transport,
        .lane = lane,
        .make = computing.make,
        .on_stall = [&log](const std::string& stall) { log->warn("{}", stall); },
        .index_folder = data::index_folder_of(read_environment()),
        .control_groups = control_groups_mount(read_environment())};
    begin(generation.emplace(setup), setup, *log);
    tell_network(computing, *log);
    start.finish();
    snapshot_saver.begin(generation->training());
    lifeline.expect_heartbeats(silence_limit(welcome.layout));
    generation->training()->run();
    snapshot_saver.begin(nullptr);
    finished = {welcome.run_directory, generation->begun().store};
    generation->end();
    lifeline.expect_close();
    link.goodbye(kStartDeadline);
    // Wait here, because MPI_Finalize hangs for ever if a rank is lost during it.
    (void)lifeline.wait_closed(kOthersDeadline);
  } catch (const StoppedByCoordinator& stopped) {
    snapshot_saver.carry_out(lifeline, stopped.keep());
    leave(stopped.code());
  } catch (const CommError& error) {
    log->error("{}", error.what());
    link.stop(stop_for(error));
    snapshot_saver.carry_out(lifeline);
    leave(error.code());
  } catch (const DivergedError& error) {
    if (generation && generation->training() != nullptr) {
      generation->training()->finish_healthy_files();
    }
    fail(link, *log, stop_for(error), [] {});
  } catch (const Error& error) {
    fail(link, *log, stop_for(error), keep);
  } catch (const std::exception& error) {
    const std::string words = error.what();  // LibTorch appends a stack trace, for the log
    log->error("{}", words);
    if (const std::string raised = python::raised_in_python(error); !raised.empty()) {
      fail(link, *log, {.exit_code = static_cast<int>(ExitCode::kUsage), .reason = raised}, keep);
    }
    const auto shortage =
        job ? out_of_memory(error, *computing.requests, *job, welcome.layout) : std::nullopt;
    fail(link, *log,
         {.exit_code = static_cast<int>(shortage ? ExitCode::kEnvironment : ExitCode::kInternal),
          .reason = shortage.value_or(words.substr(0, words.find('\n')))},
         keep);
  }
  log->info("done");
  return finished;
}

int run(const InheritedTether& inherited, Computing computing) {
  keep_freed_memory();
  computing.requests = &watch_requests();
  gan::LibraryWarnings warnings;
  warnings.listen();
  computing.warnings = &warnings;
  Tether tether({.inherited = inherited, .meeting = kMeetingDeadline, .last_words = kLastWords});
  comm::MpiSession session;
  tether.met();
  ExitCode code = ExitCode::kDone;
  std::optional<Finished> finished;
  MpiControlChannel channel(session);
  {
    comm::Lane lane([&channel] { channel.pump(); });
    channel.on_send([&lane] { lane.wake(); });
    lane.wait(lane.submit([&warnings] { warnings.listen(); }));  // the lane runs the optimiser
    const std::unique_ptr<CoordinatorLink> link = make_coordinator_link(channel);
    try {
      finished = train(*link, session, lane, channel, tether, computing);
    } catch (const StoppedByCoordinator& stopped) {
      code = stopped.code();  // refused before the start: all leave in order
    } catch (const Error& error) {
      link->stop(stop_for(error));
      leave(error.code());
    }
  }
  // Other workers may still be saving, and rank 0 committing their files.
  session.finalize(static_cast<int>(code), kStartDeadline);
  if (finished) {  // the status now says how the run ended
    checkpoint::remove_saved_snapshots(finished->snapshots.folders, finished->snapshots.key,
                                       finished->run_directory);
  }
  python::leave_with_python(static_cast<int>(code));
  return static_cast<int>(code);
}

}  // namespace

int worker_program(std::span<char* const> arguments, const char* device, const DeviceMaker& make,
                   const std::function<std::string()>& network) {
  try {
    return run(inherited_tether({arguments.begin(), arguments.end()}),
               {device, make, network, nullptr, nullptr});
  } catch (const std::exception& error) {
    fmt::print(stderr, "gangway-worker: {}\n", error.what());
    return static_cast<int>(ExitCode::kEnvironment);
  }
}

}  // namespace gangway::worker
