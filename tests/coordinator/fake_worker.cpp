// SPDX-License-Identifier: MIT
// A worker that speaks the whole protocol and trains nothing: for tests of the coordinator under
// mpirun. Options: --step-ms N, --never-ready, --diverge-at STEP, --hang-at STEP, --fail-saves,
// --stop-at STEP, each for all ranks, or for one with --only RANK; --meeting-ms and --silence-ms
// set the deadlines of MPI_Init and of the coordinator's heartbeats.
#include <chrono>
#include <csignal>
#include <cstring>
#include <iostream>
#include <limits>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <poll.h>
#include <unistd.h>

#include "base/build_id.hpp"
#include "base/errors.hpp"
#include "base/this_host.hpp"
#include "checkpoint/format/safetensors.hpp"
#include "checkpoint/format/worker_file.hpp"
#include "comm/transport/mpi_session.hpp"
#include "run/control_protocol.hpp"
#include "run/tether.hpp"
#include "tests/checkpoint/write_worker_file.hpp"
#include "worker/link/channel_link.hpp"
#include "worker/link/lifeline.hpp"

namespace gangway::worker {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kLimit{30'000};

void nap(milliseconds duration) { (void)::poll(nullptr, 0, static_cast<int>(duration.count())); }

/// Control messages straight over MPI, all on one thread.
class DirectChannel : public ControlChannel {
 public:
  explicit DirectChannel(MPI_Comm communicator) : communicator_(communicator) {}

  void send(std::string bytes) override {
    auto& entry = sends_.emplace_back(std::make_unique<Send>());
    entry->bytes = std::move(bytes);
    MPI_Isend(entry->bytes.data(), static_cast<int>(entry->bytes.size()), MPI_BYTE, 0, kControlTag,
              communicator_, &entry->request);
  }

  std::optional<std::string> try_receive() override {
    progress();
    int found = 0;
    MPI_Status status;
    MPI_Iprobe(0, kControlTag, communicator_, &found, &status);
    if (found == 0) {
      return std::nullopt;
    }
    int size = 0;
    MPI_Get_count(&status, MPI_BYTE, &size);
    std::string bytes(static_cast<std::size_t>(size), '\0');
    MPI_Recv(bytes.data(), size, MPI_BYTE, 0, kControlTag, communicator_, MPI_STATUS_IGNORE);
    return bytes;
  }

  bool wait(milliseconds limit) override {
    const auto end = steady_clock::now() + limit;
    int found = 0;
    while (found == 0 && steady_clock::now() < end) {
      progress();
      MPI_Iprobe(0, kControlTag, communicator_, &found, MPI_STATUS_IGNORE);
      if (found == 0) {
        nap(milliseconds(1));
      }
    }
    return found != 0;
  }

  bool flush(milliseconds limit) override {
    const auto end = steady_clock::now() + limit;
    progress();
    while (!sends_.empty() && steady_clock::now() < end) {
      nap(milliseconds(1));
      progress();
    }
    return sends_.empty();
  }

 private:
  struct Send {
    std::string bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  void progress() {
    sends_.remove_if([](const std::unique_ptr<Send>& entry) {
      int done = 0;
      MPI_Test(&entry->request, &done, MPI_STATUS_IGNORE);
      return done != 0;
    });
  }

  MPI_Comm communicator_;
  std::list<std::unique_ptr<Send>> sends_;
};

struct Behaviour {
  int step_ms = 5;
  int only = 0;
  bool never_ready = false;
  bool fail_saves = false;
  std::int64_t diverge_at = -1;
  std::int64_t hang_at = -1;
  std::int64_t stop_at = -1;
  int meeting_ms = 120'000;
  int silence_ms = 65'000;

  [[nodiscard]] milliseconds meeting() const { return milliseconds(meeting_ms); }
  [[nodiscard]] milliseconds silence() const { return milliseconds(silence_ms); }
  [[nodiscard]] bool concerns(int rank) const { return only == 0 || only == rank; }
};

void save(CoordinatorLink& link, const messages::Lease& lease, const messages::Welcome& welcome,
          int rank, bool fail) {
  messages::CheckpointPart part{
      .step = lease.end, .file = {}, .bytes = 0, .xxh3_128 = {}, .error = {}};
  if (fail) {
    part.error = "no space left on device: free some, or set another --outdir";
  } else {
    const std::int64_t value = lease.end;
    const checkpoint::TensorRecord record{.name = "fake/" + std::to_string(rank),
                                          .type = checkpoint::ElementType::kI64,
                                          .shape = {1},
                                          .bytes = std::as_bytes(std::span(&value, 1))};
    try {
      const auto report =
          checkpoint::write_worker_file(lease.checkpoint_directory,
                                        {.step = lease.end,
                                         .epoch = welcome.epoch,
                                         .worker = rank - 1,
                                         .num_workers = welcome.layout.num_workers()},
                                        std::span(&record, 1));
      part.file = report.name;
      part.bytes = report.bytes;
      part.xxh3_128 = report.xxh3_128;
    } catch (const Error& error) {
      part.error = error.what();
    }
  }
  link.checkpoint_part(part);
}

messages::Progress progress_of(std::int64_t step, const MicrobatchRange& range, bool diverged) {
  messages::Progress progress;
  progress.step = step;
  for (int microbatch = range.begin; microbatch < range.end; ++microbatch) {
    const double loss = diverged ? std::numeric_limits<double>::quiet_NaN()
                                 : 1.0 / static_cast<double>(step + microbatch);
    progress.losses.push_back({.microbatch = microbatch, .by_network = {loss, 2.0 * loss}});
  }
  progress.memory.resident_bytes = 1U << 20U;
  return progress;
}

/// @return false when the worker has said Stop and is to leave without a Goodbye.
bool train(CoordinatorLink& link, const messages::Welcome& welcome, const Behaviour& behaviour,
           int rank) {
  const MicrobatchRange range = welcome.layout.range_of(rank - 1);
  for (;;) {
    const messages::Lease lease = link.next_lease(kLimit);
    for (std::int64_t step = lease.begin + 1; step <= lease.end; ++step) {
      nap(milliseconds(behaviour.step_ms));
      if (step == behaviour.hang_at && behaviour.concerns(rank)) {
        ::raise(SIGSTOP);
      }
      if (step == behaviour.stop_at && behaviour.concerns(rank)) {
        link.stop({.exit_code = static_cast<int>(ExitCode::kUsage),
                   .reason = "the data ended: give a larger set"});
        return false;
      }
      link.report(
          progress_of(step, range, step == behaviour.diverge_at && behaviour.concerns(rank)));
    }
    if (!lease.checkpoint_directory.empty()) {
      save(link, lease, welcome, rank, behaviour.fail_saves);
    }
    if (lease.last) {
      return true;
    }
  }
}

int work(const Behaviour& behaviour, const InheritedTether& inherited) {
  Tether tether({.inherited = inherited, .meeting = behaviour.meeting()});
  comm::MpiSession mpi;
  tether.met();
  for (const int signal : {SIGUSR1, SIGUSR2, SIGTERM, SIGINT}) {
    std::signal(signal, SIG_IGN);  // the coordinator answers signals, for all
  }
  DirectChannel channel(mpi.communicator());
  const auto link = make_coordinator_link(channel);
  std::unique_ptr<Lifeline> lifeline;
  try {
    const messages::Welcome welcome = link->join({.rank = mpi.rank(),
                                                  .host = host_name(),
                                                  .process = own_process(),
                                                  .device = "cpu",
                                                  .build = std::string(build_id())},
                                                 kLimit);
    lifeline = std::make_unique<Lifeline>(welcome.lifeline, mpi.rank(), milliseconds(5000),
                                          [](const std::string&) { ::_exit(3); });
    tether.settle();
    if (behaviour.never_ready && behaviour.concerns(mpi.rank())) {
      nap(kLimit);
    }
    (void)link->ask_begin({}, kLimit);
    lifeline->expect_heartbeats(behaviour.silence());
    link->ready({.plan_hash = 7, .plan_summary = "1 bucket", .parameters = {10, 20}});
    if (!train(*link, welcome, behaviour, mpi.rank())) {
      return 0;
    }
    lifeline->expect_close();
    link->goodbye(kLimit);
  } catch (const StoppedByCoordinator&) {
    if (lifeline) {
      lifeline->expect_close();
    }
  }
  mpi.finalize(0);
  return 0;
}

}  // namespace
}  // namespace gangway::worker

int main(int argc, char** argv) {
  gangway::worker::Behaviour behaviour;
  CLI::App app("A worker that trains nothing");
  app.add_option("--step-ms", behaviour.step_ms);
  app.add_option("--only", behaviour.only);
  app.add_flag("--never-ready", behaviour.never_ready);
  app.add_flag("--fail-saves", behaviour.fail_saves);
  app.add_option("--diverge-at", behaviour.diverge_at);
  app.add_option("--hang-at", behaviour.hang_at);
  app.add_option("--stop-at", behaviour.stop_at);
  app.add_option("--meeting-ms", behaviour.meeting_ms);
  app.add_option("--silence-ms", behaviour.silence_ms);
  app.add_option("--tether");
  CLI11_PARSE(app, argc, argv);
  int code = 1;
  try {
    code = gangway::worker::work(behaviour, gangway::inherited_tether({argv, argv + argc}));
  } catch (const std::exception& error) {
    std::cerr << "fake_worker: " << error.what() << std::endl;
  }
  ::_exit(code);
}
