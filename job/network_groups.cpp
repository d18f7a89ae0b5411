// SPDX-License-Identifier: MIT
#include "job/network_groups.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "base/errors.hpp"

namespace gangway {
namespace {

NetworkGroup group_of(std::vector<int> workers, int microbatches) {
  const auto size = static_cast<int>(workers.size());
  return {.workers = std::move(workers), .ranges = microbatch_ranges(microbatches, size)};
}

/// @throws ConfigError
void require_members(const NetworkSpec& network, int workers, int microbatches) {
  if (network.workers.back() >= workers) {
    throw ConfigError(fmt::format(
        "layout.{} names worker {}, and the last of {} is worker {}; use -n {} or other workers",
        network.name, network.workers.back(), workers, workers - 1, network.workers.back() + 1));
  }
  if (static_cast<int>(network.workers.size()) > microbatches) {
    throw ConfigError(fmt::format(
        "layout.{} names {} workers, which cannot share training.microbatches {}: some would have "
        "none; name fewer, or use more micro-batches (that changes the numbers)",
        network.name, network.workers.size(), microbatches));
  }
}

}  // namespace

bool NetworkGroup::has(int worker) const {
  return std::ranges::find(workers, worker) != workers.end();
}

MicrobatchRange NetworkGroup::range_of(int worker) const {
  const auto found = std::ranges::find(workers, worker);
  return found == workers.end() ? MicrobatchRange{}
                                : ranges[static_cast<std::size_t>(found - workers.begin())];
}

int NetworkGroup::worker_of(int microbatch) const {
  const auto found = std::ranges::find_if(ranges, [microbatch](MicrobatchRange range) {
    return range.contains({microbatch, microbatch + 1});
  });
  if (found == ranges.end()) {
    throw InvariantError(
        fmt::format("no worker of a group has micro-batch {}; please report this", microbatch));
  }
  return workers[static_cast<std::size_t>(found - ranges.begin())];
}

bool places_networks(const JobSpec& job) {
  return std::ranges::any_of(job.networks,
                             [](const NetworkSpec& network) { return !network.workers.empty(); });
}

bool are_apart(const PerNetwork<NetworkGroup>& groups) {
  return std::ranges::any_of(
      groups, [&](const NetworkGroup& group) { return group.workers != groups.begin()->workers; });
}

PerNetwork<NetworkGroup> network_groups(const JobSpec& job, int workers) {
  const int microbatches = job.training.microbatches;
  std::vector<int> all(static_cast<std::size_t>(workers));
  std::iota(all.begin(), all.end(), 0);
  PerNetwork<NetworkGroup> groups;
  for (const NetworkSpec& network : job.networks) {
    if (!network.workers.empty()) {
      require_members(network, workers, microbatches);
    } else if (workers > microbatches) {
      throw ConfigError(fmt::format(
          "{} workers cannot share training.microbatches {}: some would have none; use -n {} or "
          "fewer, or more micro-batches (that changes the numbers)",
          workers, microbatches, microbatches));
    }
    groups.add(group_of(network.workers.empty() ? all : network.workers, microbatches));
  }
  for (const int worker : all) {
    if (std::ranges::none_of(groups, [worker](const auto& group) { return group.has(worker); })) {
      throw ConfigError(
          fmt::format("the layout places no network on worker {} of {}; name it in layout.{}, or "
                      "start fewer workers",
                      worker, workers, job.networks.begin()->name));
    }
  }
  return groups;
}

MicrobatchRange range_of_all(const PerNetwork<NetworkGroup>& groups, int worker) {
  MicrobatchRange all;
  for (const NetworkGroup& group : groups) {
    const MicrobatchRange own = group.range_of(worker);
    if (own.size() > 0 && all.size() > 0) {
      all = {std::min(all.begin, own.begin), std::max(all.end, own.end)};
    } else if (own.size() > 0) {
      all = own;
    }
  }
  return all;
}

}  // namespace gangway
