// SPDX-License-Identifier: MIT
#include "coordinator/steering/resize.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/errors.hpp"
#include "job/estimate/dry_run.hpp"

namespace gangway::coordinator {
namespace {

std::string before_dot(const std::string& host) { return host.substr(0, host.find('.')); }

}  // namespace

std::string leave_reason(const Resize& resize, const std::string& moment) {
  if (!resize.drained.empty()) {
    return fmt::format("drained rank {} {}: continues with the rest",
                       fmt::join(resize.drained, ", "), moment);
  }
  if (!resize.shares.empty()) {
    return fmt::format("balanced {}: continues with layout.shares [{}]", moment,
                       fmt::join(resize.shares, ", "));
  }
  return fmt::format("resized {}: continues with {} worker{}", moment, resize.workers,
                     resize.workers == 1 ? "" : "s");
}

std::set<Rank> ranks_named(const std::string& name, const std::vector<DrainableWorker>& workers) {
  std::set<Rank> ranks;
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
    if (fmt::to_string(worker.rank) == name) {
      return {worker.rank};
    }
  }
  throw ConfigError(
      fmt::format("'{}' cannot be drained: say a host ({}) or a worker's rank (1 to {})", name,
                  fmt::join(hosts, ", "), workers.size()));
}

void require_layout_with(int workers, const JobSpec& job) {
  if (workers < 1) {
    throw ConfigError("no worker would be left; gangway stop, then start elsewhere");
  }
  JobSpec resized = job;
  resized.layout.shares.clear();
  try {
    require_workers(resized, workers);
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("the layout does not go with {} worker{}: {}", workers,
                                  workers == 1 ? "" : "s", error.what()));
  }
}

}  // namespace gangway::coordinator
