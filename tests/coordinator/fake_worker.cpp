// SPDX-License-Identifier: MIT
// A worker that speaks the whole protocol and trains nothing: for tests of starts under mpirun.
#include <chrono>
#include <csignal>
#include <cstring>
#include <iostream>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

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
constexpr milliseconds kStep{5};
constexpr milliseconds kMeeting{120'000};  // of MPI_Init
constexpr milliseconds kSilence{65'000};   // of the coordinator's heartbeats

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

void save(CoordinatorLink& link, const messages::Lease& lease, const messages::Welcome& welcome,
          Rank rank) {
  messages::CheckpointPart part{
      .step = lease.end, .file = {}, .bytes = 0, .xxh3_128 = {}, .error = {}};
  const std::int64_t value = lease.end;
  const checkpoint::TensorRecord record{.name = "fake/" + fmt::to_string(rank),
                                        .type = checkpoint::ElementType::kI64,
                                        .shape = {1},
                                        .bytes = std::as_bytes(std::span(&value, 1))};
  try {
    const auto report = checkpoint::write_worker_file(lease.checkpoint_directory,
                                                      {.step = lease.end,
                                                       .epoch = welcome.epoch,
                                                       .worker = worker_of(rank).value(),
                                                       .num_workers = welcome.layout.num_workers()},
                                                      std::span(&record, 1));
    part.file = report.name;
    part.bytes = report.bytes;
    part.xxh3_128 = report.xxh3_128;
  } catch (const Error& error) {
    part.error = error.what();
  }
  link.send(part);
}

messages::Progress progress_of(std::int64_t step, const MicrobatchRange& range) {
  messages::Progress progress;
  progress.step = step;
  for (int microbatch = range.begin; microbatch < range.end; ++microbatch) {
    const double loss = 1.0 / static_cast<double>(step + microbatch);
    progress.losses.push_back({.microbatch = microbatch, .by_network = {loss, 2.0 * loss}});
  }
  progress.memory.resident_bytes = 1U << 20U;
  return progress;
}

void train(CoordinatorLink& link, const messages::Welcome& welcome, Rank rank) {
  const MicrobatchRange range = welcome.layout.range_of(worker_of(rank).value());
  for (;;) {
    const messages::Lease lease = link.next_lease(kLimit);
    for (std::int64_t step = lease.begin + 1; step <= lease.end; ++step) {
      nap(kStep);
      link.send(progress_of(step, range));
    }
    if (!lease.checkpoint_directory.empty()) {
      save(link, lease, welcome, rank);
    }
    if (lease.last) {
      return;
    }
  }
}

int work(const InheritedTether& inherited) {
  Tether tether({.inherited = inherited, .meeting = kMeeting});
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
    lifeline =
        std::make_unique<Lifeline>(welcome.lifeline, mpi.rank(), milliseconds(5000),
                                   [](const std::string&, std::optional<bool>) { ::_exit(3); });
    tether.settle();
    (void)link->ask_begin({}, kLimit);
    lifeline->expect_heartbeats(kSilence);
    link->send(messages::Ready{.plan_hash = 7, .plan_summary = "1 bucket", .parameters = {10, 20}});
    train(*link, welcome, mpi.rank());
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
  int code = 1;
  try {
    code = gangway::worker::work(gangway::inherited_tether({argv, argv + argc}));
  } catch (const std::exception& error) {
    std::cerr << "fake_worker: " << error.what() << std::endl;
  }
  ::_exit(code);
}
