// SPDX-License-Identifier: MIT
// gangway-bench-links: one rank of `gangway profile --hostfile`, under mpirun with one rank more
// than workers, as in training. Rank 0 sleeps, worker 0 prints the table in one line.
#include <chrono>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/process_identity.hpp"
#include "bench/run_bench.hpp"
#include "bench/start_token.hpp"
#include "comm/calibrate/measure_links.hpp"
#include "comm/host/agree_on_hosts.hpp"
#include "comm/transport/deadline.hpp"
#include "comm/transport/mpi_session.hpp"
#include "comm/transport/mpi_transport.hpp"
#include "run/control_protocol.hpp"

namespace gangway::bench {
namespace {

struct Options {
  std::vector<std::string> names;
};

Options parse(int argc, char** argv) {
  Options options;
  CLI::App app("One rank of 'gangway profile --hostfile'", "gangway-bench-links");
  app.add_option("--names", options.names, "The host name of each worker")
      ->delimiter(',')
      ->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    throw ConfigError(fmt::format("{}: see 'gangway profile --help'", error.what()));
  }
  return options;
}

void work(const comm::MpiSession& session, const Options& options, const std::string& token) {
  comm::MpiTransport transport(session, 0, [] {});
  if (options.names.size() != static_cast<std::size_t>(transport.num_workers())) {
    throw ConfigError(fmt::format("--names: {} names for {} workers", options.names.size(),
                                  transport.num_workers()));
  }
  const comm::LinkTable table = comm::measure_links(
      transport,
      {.machines = comm::agree_on_hosts(transport, shared_memory_identity(), kStartDeadline),
       .names = options.names,
       .token = token});
  if (transport.worker() == 0) {
    std::cout << comm::kLinksWord << comm::to_json(table) << std::endl;
  }
}

/// Waits for all ranks without load, because hosts measure one after another.
void wait_for_all(const comm::MpiSession& session) {
  constexpr auto kNap = std::chrono::milliseconds(5);
  constexpr std::chrono::seconds kOfAHost{10};  // longer than one host's turn
  const comm::Deadline deadline(kStartDeadline + session.size() * kOfAHost);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(session.communicator(), &request);
  int have_come = 0;
  while (have_come == 0) {
    if (deadline.expired()) {
      throw CommError("a host has not finished; gangway doctor --hostfile says which");
    }
    std::this_thread::sleep_for(kNap);
    MPI_Test(&request, &have_come, MPI_STATUS_IGNORE);
  }
}

int run(int argc, char** argv) {
  comm::MpiSession session;
  const Options options = parse(argc, argv);
  const std::string token = agree_on_token(session.communicator(), "links");
  if (session.rank() != Rank(0)) {
    work(session, options, token);
  }
  wait_for_all(session);
  session.finalize(0);
  return 0;
}

}  // namespace
}  // namespace gangway::bench

int main(int argc, char** argv) {
  return gangway::bench::run_bench("gangway-bench-links",
                                   [&] { return gangway::bench::run(argc, argv); });
}
