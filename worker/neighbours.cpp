// SPDX-License-Identifier: MIT
#include "worker/neighbours.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <sched.h>
#include <xxhash.h>

#include "comm/host_agreement.hpp"
#include "comm/reducer.hpp"
#include "job/control_protocol.hpp"
#include "job/errors.hpp"

namespace gangway::worker {
namespace {

std::vector<int> members_with(int host, const std::vector<int>& hosts) {
  std::vector<int> members;
  for (std::size_t worker = 0; worker < hosts.size(); ++worker) {
    if (hosts[worker] == host) {
      members.push_back(static_cast<int>(worker));
    }
  }
  return members;
}

/// Cores that this process may use.
std::size_t num_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  return sched_getaffinity(0, sizeof cores, &cores) == 0
             ? static_cast<std::size_t>(CPU_COUNT(&cores))
             : 1;
}

/// By worker, who shares memory with whom under `transport`; `machines` says who could.
std::vector<int> sharing(TransportKind transport, const std::vector<int>& machines) {
  if (transport == TransportKind::kMpi) {
    std::vector<int> each_alone(machines.size());
    std::iota(each_alone.begin(), each_alone.end(), 0);
    return each_alone;
  }
  const auto elsewhere =
      std::ranges::find_if(machines, [&](int machine) { return machine != machines.front(); });
  if (transport == TransportKind::kShm && elsewhere != machines.end()) {
    throw ConfigError(fmt::format(
        "layout.transport: shm, but worker {} shares no memory with worker 0 (another host or "
        "container); use hierarchical, mpi or auto",
        elsewhere - machines.begin()));
  }
  return machines;
}

}  // namespace

Neighbours find_neighbours(const JobSpec& job, const std::string& token,
                           comm::Transport& transport, comm::Lane& lane) {
  std::vector<int> machines;
  lane.wait(lane.submit([&] {
    machines = comm::agree_on_hosts(transport, comm::shared_memory_identity(), kStartDeadline);
  }));
  const auto me = static_cast<std::size_t>(transport.worker());
  const std::vector<int> hosts = sharing(job.layout.transport, machines);
  const std::vector<int> members = members_with(hosts[me], hosts);
  const std::size_t beside = members_with(machines[me], machines).size();
  // A core for each compute thread, and one for this worker's lane.
  const bool owns_core =
      num_cores() >= beside * (static_cast<std::size_t>(job.numerics.threads) + 1);
  std::string summary = fmt::format(
      "{}; the lane {}",
      members.size() > 1 ? fmt::format("{} workers of this host share memory", members.size())
                         : "shares no memory",
      owns_core ? "owns a core and spins" : "shares its core and sleeps between polls");
  return {.hosts = hosts,
          .group = comm::HostGroup(
              {.members = members,
               .worker = transport.worker(),
               .epoch = transport.epoch(),
               .token = fmt::format("{:016x}", XXH3_64bits(token.data(), token.size())),
               .num_flags = 2 * comm::kFlagsPerNetwork}),
          .core = owns_core ? comm::Lane::Core::kOwn : comm::Lane::Core::kShared,
          .summary = std::move(summary)};
}

}  // namespace gangway::worker
