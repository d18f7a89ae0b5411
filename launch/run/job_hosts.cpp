// SPDX-License-Identifier: MIT
#include "launch/run/job_hosts.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/system/usable_cores.hpp"
#include "base/this_host.hpp"
#include "launch/mpirun/slurm_allocation.hpp"
#include "launch/process/environment.hpp"
#include "launch/process/gpus.hpp"

namespace gangway::launch {
namespace {

/// Returns the largest worker number that the layout names, plus one; 0: it names none.
int named_workers(const JobSpec& spec) {
  int count = 0;
  for (const NetworkPlacement& network : spec.layout.networks) {
    count = network.workers.empty() ? count : std::max(count, network.workers.back() + 1);
  }
  return count;
}

JobHosts hosts_of(SlurmAllocation allocation, int workers, const JobSpec& spec) {
  // Divides cores by threads per worker; a task or a GPU serves one worker.
  const int each = allocation.counted == "cores" ? 1 : std::max(1, spec.numerics.threads);
  JobHosts chosen;
  chosen.workers =
      workers > 0 ? workers : default_workers(spec, each * count_slots(allocation.hosts));
  chosen.found = describe(allocation, chosen.workers);
  if (allocation.hosts.size() > 1 || !is_this_host(allocation.hosts.front().name)) {
    chosen.hosts = std::move(allocation.hosts);
  }
  return chosen;
}

}  // namespace

int default_workers(const JobSpec& spec, int slots) {
  if (spec.layout.data > 0) {
    return spec.layout.data;
  }
  if (const int named = named_workers(spec); named > 0) {
    return named;
  }
  return std::max(1,
                  std::min(slots / std::max(1, spec.numerics.threads), spec.training.microbatches));
}

JobHosts choose_hosts(const std::filesystem::path& hostfile, int workers, const JobSpec& spec,
                      const Environment& environment) {
  JobHosts chosen;
  const int gpus = spec.numerics.device == DeviceKind::kCuda ? num_gpus() : 0;
  // A GPU serves one worker with any number of threads.
  int slots = gpus > 0 ? gpus * std::max(1, spec.numerics.threads) : usable_cores();
  if (!hostfile.empty()) {
    chosen.hosts = read_hostfile(hostfile);
    slots = count_slots(chosen.hosts);
  } else if (auto allocation = find_slurm_allocation(environment, spec.numerics.device)) {
    return hosts_of(std::move(*allocation), workers, spec);
  }
  chosen.workers = workers > 0 ? workers : default_workers(spec, slots);
  if (chosen.hosts.empty() && gpus > 0 && chosen.workers > gpus) {
    chosen.found =
        fmt::format("warn  {} workers share {} GPU{}: results are the same, but training is slower",
                    chosen.workers, gpus, gpus == 1 ? "" : "s");
  }
  return chosen;
}

std::vector<std::string> hosts_of(const JobHosts& where) {
  return where.hosts.empty() ? std::vector(static_cast<std::size_t>(where.workers), host_name())
                             : hosts_of_workers(where.hosts, where.workers, is_this_host);
}

}  // namespace gangway::launch
