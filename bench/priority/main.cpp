// SPDX-License-Identifier: MIT
// gangway-bench-priority: one rank of bench/priority/run.py, under mpirun with three ranks. Rank 0
// sleeps; worker 0 sends a tensor to worker 1, which sends one of the same size back, as an
// activation and its gradient travel; worker 0 prints how long each round trip took, and at what
// rate gradients went meanwhile, as one line of JSON.
#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <malloc.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/errors.hpp"
#include "base/process_identity.hpp"
#include "bench/priority/flood.hpp"
#include "bench/rank_zero.hpp"
#include "bench/run_bench.hpp"
#include "comm/host/agree_on_hosts.hpp"
#include "comm/host/host_memory.hpp"
#include "comm/host/host_streams.hpp"
#include "comm/tensors/tensor_channel.hpp"
#include "comm/transport/mpi_session.hpp"
#include "comm/transport/mpi_transport.hpp"

namespace gangway::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kWorkers = 2;
constexpr int kWarmUp = 5;  // round trips that do not count

struct Options {
  std::string way = "messages";
  std::size_t bytes = 100'352;
  std::size_t window = comm::kBulkBesideTensors;
  std::size_t joined = comm::kMostJoinedBytes;
  std::size_t ring = comm::kStreamBytes;
  int gradients_mb = 0;
  double seconds = 2.0;
  int pause_microseconds = 5000;
};

Options parse(int argc, char** argv) {
  Options options;
  CLI::App app("One rank of bench/priority/run.py", "gangway-bench-priority");
  app.add_option("--way", options.way, "memory or messages")
      ->check(CLI::IsMember({"memory", "messages"}));
  app.add_option("--bytes", options.bytes, "of a tensor");
  app.add_option("--window", options.window, "of gradients beside tensors; 0: no bound");
  app.add_option("--joined", options.joined, "the most bytes in a header's message")
      ->check(CLI::Range(std::size_t{0}, comm::kMostJoinedBytes));
  app.add_option("--ring", options.ring, "bytes of a stream in shared memory");
  app.add_option("--gradients", options.gradients_mb, "MB each way; 0: none");
  app.add_option("--seconds", options.seconds, "where there are no gradients");
  app.add_option("--pause", options.pause_microseconds, "between round trips, microseconds");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    throw ConfigError(fmt::format("{}: see bench/priority/run.py", error.what()));
  }
  return options;
}

comm::HostMemory memory_of(const Options& options, comm::Transport& transport) {
  if (options.way == "messages") {
    return comm::HostMemory::alone(transport.worker(), 1);
  }
  const std::vector<int> hosts =
      comm::agree_on_hosts(transport, shared_memory_identity(), kStartDeadline);
  if (hosts.front() != hosts.back()) {
    throw ConfigError("--way memory: the workers are on two hosts; use --way messages");
  }
  return comm::HostMemory({.members = {0, 1},
                           .worker = transport.worker(),
                           .token = fmt::format("tensors{}", ::getppid()),
                           .num_flags = 1});
}

/// One tensor after another with the other worker.
class Talk {
 public:
  Talk(comm::TensorChannel& channel, int peer, std::size_t bytes)
      : channel_(channel),
        peer_(peer),
        bytes_(std::make_shared<std::vector<std::byte>>(bytes, std::byte{1})) {}

  /// Seconds until the answer to the `number`-th tensor was there.
  [[nodiscard]] double ask(std::int64_t number, bool is_last) {
    const Clock::time_point begin = Clock::now();
    channel_.expect(peer_, 1);
    send(number, is_last);
    (void)channel_.receive(peer_, key(number));
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }
  /// False: it was the last.
  [[nodiscard]] bool answer(std::int64_t number) {
    channel_.expect(peer_, 1);
    const bool is_last = channel_.receive(peer_, key(number)).shape.type != 0;
    send(number, is_last);
    return !is_last;
  }

 private:
  [[nodiscard]] static comm::TensorKey key(std::int64_t number) { return {.step = number}; }
  void send(std::int64_t number, bool is_last) {
    channel_.send(peer_, key(number),
                  {.type = is_last ? 1 : 0,
                   .axes = 1,
                   .sizes = {static_cast<std::int64_t>(bytes_->size())},
                   .strides = {1},
                   .bytes = bytes_->size()},
                  *bytes_, bytes_);
  }

  comm::TensorChannel& channel_;
  int peer_;
  std::shared_ptr<std::vector<std::byte>> bytes_;
};

void print(const std::vector<double>& seconds, double gradient_rate) {
  std::cout << fmt::format("{{\"seconds\": [{:.7f}], \"gradient_bytes_per_second\": {:.0f}}}\n",
                           fmt::join(seconds, ", "), gradient_rate)
            << std::flush;
}

void work(const comm::MpiSession& session, const Options& options) {
  comm::MpiTransport transport(session, 0, [] {});
  if (transport.num_workers() != kWorkers) {
    throw ConfigError("two workers measure: start three ranks");
  }
  const int peer = 1 - transport.worker();
  comm::HostMemory memory = memory_of(options, transport);
  comm::StreamMemory own(memory, options.way == "memory" ? std::vector{peer} : std::vector<int>{},
                         options.ring);
  const comm::HostGroup group = std::move(memory).connect(0, comm::Deadline(kStartDeadline));
  comm::HostStreams streams(own, group);
  const std::int64_t messages =
      static_cast<std::int64_t>(options.gradients_mb) * 1'000'000 / Flood::bytes_of(1);
  Flood flood(transport, peer, messages);
  comm::Lane lane([] {});
  lane.listen_to(group, comm::Lane::Core::kShared);
  comm::TensorChannel channel(
      transport, lane,
      {.streams = &streams, .bulk_window = options.window, .most_joined = options.joined});
  Talk talk(channel, peer, options.bytes);
  std::int64_t number = 0;
  for (; number < kWarmUp; ++number) {
    (void)(transport.worker() == 0 ? talk.ask(number, false) > 0.0 : talk.answer(number));
  }
  const Clock::time_point begin = Clock::now();
  const auto passed = [begin] {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  lane.attach(flood);  // behind the tensors, as exchanges are
  if (transport.worker() == 1) {
    while (talk.answer(number)) {
      ++number;
    }
  } else {
    std::vector<double> seconds;
    while (messages > 0 ? !flood.is_over() : passed() < options.seconds) {
      std::this_thread::sleep_for(std::chrono::microseconds(options.pause_microseconds));
      seconds.push_back(talk.ask(number++, false));
    }
    const double rate = static_cast<double>(Flood::bytes_of(messages)) / passed();
    (void)talk.ask(number, true);
    print(seconds, rate);
  }
  lane.wait(flood);
  channel.finish_sending();
  lane.detach(flood);
}

int run(int argc, char** argv) {
  // As the worker does: freed memory is kept, or each large tensor costs its pages anew.
  (void)::mallopt(M_MMAP_MAX, 0);
  (void)::mallopt(M_TRIM_THRESHOLD, -1);
  (void)::prctl(PR_SET_TIMERSLACK, 1000UL);  // the kernel's default of 50 us lengthens short sleeps
  const Options options = parse(argc, argv);
  comm::MpiSession session;
  if (session.rank() == 0) {
    sleep_until_the_end(session);
  } else {
    work(session, options);
    if (session.rank() == 1) {
      wake_rank_zero(session);
    }
  }
  session.finalize(0, std::chrono::minutes(1));  // on a busy machine the others may be late
  return 0;
}

}  // namespace
}  // namespace gangway::bench

int main(int argc, char** argv) {
  return gangway::bench::run_bench("gangway-bench-priority",
                                   [&] { return gangway::bench::run(argc, argv); });
}
