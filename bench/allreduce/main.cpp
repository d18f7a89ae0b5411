// SPDX-License-Identifier: MIT
// gangway-bench-allreduce: one rank of `gangway bench allreduce`, under mpirun with one rank more
// than workers. Rank 0 sleeps, as the coordinator in training; worker 0 prints.
#include <algorithm>
#include <iostream>
#include <numeric>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/errors.hpp"
#include "base/process_identity.hpp"
#include "bench/allreduce/contestants.hpp"
#include "bench/allreduce/figures.hpp"
#include "bench/allreduce/measure.hpp"
#include "bench/rank_zero.hpp"
#include "bench/run_bench.hpp"
#include "bench/start_token.hpp"
#include "comm/host/agree_on_hosts.hpp"
#include "comm/host/host_group.hpp"
#include "comm/reduce/reduction_routes.hpp"
#include "comm/transport/mpi_session.hpp"
#include "comm/transport/mpi_transport.hpp"
#include "run/control_protocol.hpp"
#include "run/line_rate.hpp"

namespace gangway::bench {
namespace {

constexpr const char* kCopyRow = "copy";
constexpr const char* kRival = "MPI_Allreduce";

struct Options {
  std::vector<std::string> sizes{"1M", "4M", "16M", "64M"};
  std::vector<std::string> transports;
  std::string line_rate;
  std::size_t buckets = comm::kDefaultBuckets;
  int rounds = 7;
  double seconds = 2.0;
  int sleep_microseconds = 0;
  int corrupt_round = 0;
  bool is_json = false;
};

Options parse(int argc, char** argv) {
  Options options;
  CLI::App app("One rank of 'gangway bench allreduce'", "gangway-bench-allreduce");
  app.add_option("--sizes", options.sizes)->delimiter(',');
  app.add_option("--transports", options.transports)->delimiter(',');
  app.add_option("--line-rate", options.line_rate);
  app.add_option("--buckets", options.buckets);
  app.add_option("--rounds", options.rounds);
  app.add_option("--seconds", options.seconds);
  app.add_option("--sleep", options.sleep_microseconds);
  app.add_option("--corrupt-round", options.corrupt_round);
  app.add_flag("--json", options.is_json);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    throw ConfigError(fmt::format("{}: see 'gangway bench allreduce --help'", error.what()));
  }
  return options;
}

/// The workers and the hosts that they run on.
struct WorkerPlaces {
  MPI_Comm workers;
  std::vector<int> hosts;  ///< by worker
  std::string token;       ///< of this start of the benchmark

  [[nodiscard]] int num_workers() const { return static_cast<int>(hosts.size()); }
  [[nodiscard]] std::size_t num_hosts() const {
    std::vector<int> sorted = hosts;
    std::ranges::sort(sorted);
    return static_cast<std::size_t>(std::ranges::unique(sorted).begin() - sorted.begin());
  }
  [[nodiscard]] bool shares_memory() const { return num_hosts() < hosts.size(); }
};

std::vector<std::string> default_transports(const WorkerPlaces& place) {
  if (place.num_hosts() == 1) {
    return {"shm", "mpi"};
  }
  return place.shares_memory() ? std::vector<std::string>{"hierarchical", "mpi"}
                               : std::vector<std::string>{"mpi"};
}

std::vector<int> hosts_for(const std::string& transport, const WorkerPlaces& place) {
  if (transport == "mpi") {
    std::vector<int> each_alone(place.hosts.size());
    std::iota(each_alone.begin(), each_alone.end(), 0);
    return each_alone;
  }
  if (transport == "shm" && place.num_hosts() > 1) {
    throw ConfigError("--transports shm: the workers are on several hosts; use hierarchical");
  }
  if (transport != "shm" && transport != "hierarchical") {
    throw ConfigError(
        fmt::format("--transports: '{}' is none of shm, mpi, hierarchical", transport));
  }
  return place.hosts;
}

/// Makes all rows for one size. The last is the copy that gives the floor.
std::vector<std::unique_ptr<Contestant>> make_rows(const Options& options,
                                                   const WorkerPlaces& place,
                                                   comm::Transport& transport, std::size_t bytes) {
  std::vector<std::unique_ptr<Contestant>> rows;
  ReductionSetup setup{.elements = bytes / sizeof(float),
                       .num_buckets = options.buckets,
                       .sleep = std::chrono::microseconds(options.sleep_microseconds)};
  // Each row needs its own name for its shared memory.
  auto fresh = [&, number = 0]() mutable {
    return fmt::format("{}x{}x{}", place.token, bytes, number++);
  };
  for (const std::string& name :
       options.transports.empty() ? default_transports(place) : options.transports) {
    setup.name = name;
    setup.hosts = hosts_for(name, place);
    setup.token = fresh();
    rows.push_back(make_reduction(transport, setup));
  }
  rows.push_back(make_mpi_allreduce(place.workers, setup.elements));
  if (place.num_hosts() == 1) {
    setup.name = kCopyRow;
    setup.hosts = place.hosts;
    setup.token = fresh();
    rows.push_back(make_slice_copy(transport, setup));
  }
  return rows;
}

/// Returns the minimum seconds of an all-reduce: by memory on one host, by links between hosts; 0
/// if their rate is unknown.
double floor_of(const Options& options, const WorkerPlaces& place, std::size_t bytes,
                const std::vector<Figure>& figures) {
  if (place.num_hosts() == 1) {
    const auto copy = std::ranges::find_if(figures, [&](const Figure& figure) {
      return figure.bytes == bytes && figure.row == kCopyRow;
    });
    return memory_floor(place.num_workers(), copy->samples.median());
  }
  if (options.line_rate.empty()) {
    return 0.0;
  }
  const std::vector<comm::ArenaLayout::Tensor> block{{"block", bytes / sizeof(float)}};
  const comm::BucketPlan plan({block, {}}, place.num_workers(), options.buckets);
  const auto ranges = one_microbatch_each(place.num_workers());
  std::uint64_t most = 0;
  for (int worker = 0; worker < place.num_workers(); ++worker) {
    most = std::max(
        most, comm::bytes_between_hosts(plan, worker, place.hosts, ranges, place.num_workers()));
  }
  return static_cast<double>(most) / parse_line_rate(options.line_rate);
}

void print(const Options& options, const WorkerPlaces& place, const std::vector<Figure>& figures) {
  TableSetup setup{.num_workers = place.num_workers(), .rival = kRival};
  for (const std::string& size : options.sizes) {
    setup.sizes.push_back(parse_size(size));
    setup.floors.push_back(floor_of(options, place, setup.sizes.back(), figures));
  }
  std::cout
      << fmt::format(
             "all-reduce of float32, {} workers on {} host{}, {} buckets, {} alternating rounds, "
             "every round's sums checked\n\n{}\n",
             place.num_workers(), place.num_hosts(), place.num_hosts() == 1 ? "" : "s",
             options.buckets, options.rounds, table_text(setup, figures))
      << (place.num_hosts() == 1
              ? "shm: gradients lie where they were computed, the result is one block for all "
                "workers of the host. MPI_Allreduce: in\nplace, a result for each worker. "
                "copy: the bytes that shm reads, copied; the floor is made from its median.\n"
              : "floor: the bytes that a host must send, at the line rate.\n")
      << std::flush;
}

void work(const comm::MpiSession& session, const Options& options, MPI_Comm workers) {
  comm::MpiTransport transport(session, 0, [] {});
  const WorkerPlaces place{
      .workers = workers,
      .hosts = comm::agree_on_hosts(transport, shared_memory_identity(), kStartDeadline),
      .token = agree_on_token(workers, "bench")};
  if (place.num_workers() < 2) {
    throw ConfigError("an all-reduce needs two workers: use --workers 2");
  }
  std::vector<Figure> figures;
  for (const std::string& size : options.sizes) {
    const std::size_t bytes = parse_size(size);
    const auto rows = make_rows(options, place, transport, bytes);
    const std::vector<Samples> samples = measure(rows, {.workers = workers,
                                                        .num_rounds = options.rounds,
                                                        .seconds = options.seconds,
                                                        .corrupt_round = options.corrupt_round});
    for (std::size_t i = 0; i < rows.size(); ++i) {
      figures.push_back({rows[i]->name(), bytes, samples[i]});
    }
  }
  if (transport.worker() == 0 && options.is_json) {
    std::cout << figures_json(place.num_workers(), figures) << std::flush;
  } else if (transport.worker() == 0) {
    print(options, place, figures);
  }
}

int run(int argc, char** argv) {
  // The kernel's default slack of 50 us would lengthen short sleeps.
  (void)::prctl(PR_SET_TIMERSLACK, 1000UL);
  comm::MpiSession session;
  const Options options = parse(argc, argv);
  MPI_Comm workers = MPI_COMM_NULL;
  MPI_Comm_split(session.communicator(), session.rank() == Rank(0) ? MPI_UNDEFINED : 0,
                 session.rank().value(), &workers);
  if (session.rank() == Rank(0)) {
    sleep_until_the_end(session);
  } else {
    work(session, options, workers);
    if (session.rank() == Rank(1)) {
      wake_rank_zero(session);
    }
    MPI_Comm_free(&workers);
  }
  session.finalize(0);
  return 0;
}

}  // namespace
}  // namespace gangway::bench

int main(int argc, char** argv) {
  return gangway::bench::run_bench("gangway-bench-allreduce",
                                   [&] { return gangway::bench::run(argc, argv); });
}
