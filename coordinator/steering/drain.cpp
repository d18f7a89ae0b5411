// SPDX-License-Identifier: MIT
#include "coordinator/steering/drain.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/errors.hpp"
#include "job/estimate/dry_run.hpp"

namespace gangway::coordinator {
namespace {

std::string before_dot(const std::string& host) { return host.substr(0, host.find('.')); }

}  // namespace

std::set<int> ranks_named(const std::string& name, const std::vector<DrainableWorker>& workers) {
  std::set<int> ranks;
  std::set<std::string> hosts;
  for (const DrainableWorker& worker : workers) {
    hosts.insert(worker.host);
    if (worker.host == name || (!name.empty() && before_dot(worker.host) == name)) {
      ranks.insert(worker.rank);
    }
  }
  if (!ranks.empty()) {
    return ranks;
  }
  for (const DrainableWorker& worker : workers) {
    if (std::to_string(worker.rank) == name) {
      return {worker.rank};
    }
  }
  throw ConfigError(
      fmt::format("'{}' cannot be drained: say a host ({}) or a worker's rank (1 to {})", name,
                  fmt::join(hosts, ", "), workers.size()));
}

void require_layout_without(const std::string& name, const JobSpec& job, int left) {
  if (left < 1) {
    throw ConfigError(fmt::format(
        "'{}' cannot be drained: no worker would be left; gangway stop, then start elsewhere",
        name));
  }
  try {
    require_workers(job, left);
  } catch (const ConfigError& error) {
    throw ConfigError(
        fmt::format("'{}' cannot be drained: the layout does not go with {} worker{}: {}", name,
                    left, left == 1 ? "" : "s", error.what()));
  }
}

}  // namespace gangway::coordinator
