// SPDX-License-Identifier: MIT
#include "comm/reduce/reduction_routes.hpp"

#include <algorithm>
#include <numeric>

namespace gangway::comm {
namespace {

/// Returns each host once, in the order of its first worker.
std::vector<int> distinct(const std::vector<int>& hosts) {
  std::vector<int> found;
  for (const int host : hosts) {
    if (std::ranges::find(found, host) == found.end()) {
      found.push_back(host);
    }
  }
  return found;
}

/// Returns the fewest whole subtrees of the `members`' micro-batches, ascending.
std::vector<MicrobatchRange> subtrees_of(const std::vector<int>& members,
                                         const std::vector<MicrobatchRange>& ranges,
                                         int num_microbatches) {
  std::vector<MicrobatchRange> joined;
  std::vector<MicrobatchRange> parts;
  for (const int member : members) {
    const auto own = whole_subtrees(ranges[static_cast<std::size_t>(member)], num_microbatches);
    parts.insert(parts.end(), own.begin(), own.end());
  }
  std::ranges::sort(parts, {}, &MicrobatchRange::begin);
  for (const MicrobatchRange& part : parts) {
    joined.push_back(part);
    while (joined.size() >= 2) {
      const MicrobatchRange right = joined.back();
      const MicrobatchRange left = joined[joined.size() - 2];
      const MicrobatchRange parent = parent_of(right, num_microbatches);
      if (parent != MicrobatchRange{left.begin, right.end} || split_point(parent) != right.begin ||
          left.end != right.begin) {  // another host's micro-batches may lie between the two
        break;
      }
      joined.pop_back();
      joined.back() = parent;
    }
  }
  return joined;
}

std::size_t place_of(int worker, const std::vector<int>& members) {
  return static_cast<std::size_t>(std::ranges::find(members, worker) - members.begin());
}

/// Returns the worker of `members` that serves `owner`, the `place`-th worker of its own host.
int delegate_for(std::size_t place, const std::vector<int>& members) {
  return members[place % members.size()];
}

}  // namespace

std::vector<int> each_its_own(int num_workers) {
  std::vector<int> hosts(static_cast<std::size_t>(num_workers));
  std::iota(hosts.begin(), hosts.end(), 0);
  return hosts;
}

std::vector<int> workers_of(int host, const std::vector<int>& hosts) {
  std::vector<int> members;
  for (std::size_t worker = 0; worker < hosts.size(); ++worker) {
    if (hosts[worker] == host) {
      members.push_back(static_cast<int>(worker));
    }
  }
  return members;
}

ReductionRoutes routes_of(int worker, const std::vector<int>& hosts,
                          const std::vector<MicrobatchRange>& ranges, int num_microbatches) {
  const int own_host = hosts[static_cast<std::size_t>(worker)];
  ReductionRoutes routes;
  routes.host_members = workers_of(own_host, hosts);
  routes.host_subtrees = subtrees_of(routes.host_members, ranges, num_microbatches);
  const std::size_t place = place_of(worker, routes.host_members);
  for (const int host : distinct(hosts)) {
    if (host == own_host) {
      continue;
    }
    const std::vector<int> members = workers_of(host, hosts);
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (delegate_for(i, routes.host_members) == worker) {
        routes.served.push_back(members[i]);
      }
    }
    const int delegate = delegate_for(place, members);
    routes.delegates.push_back(delegate);
    std::size_t part = 0;
    for (const MicrobatchRange& subtree : subtrees_of(members, ranges, num_microbatches)) {
      routes.incoming.push_back({delegate, subtree, part++});
    }
  }
  return routes;
}

std::uint64_t bytes_between_hosts(const BucketPlan& plan, int worker, const std::vector<int>& hosts,
                                  const std::vector<MicrobatchRange>& ranges, int num_microbatches,
                                  WireFormat wire) {
  const int own_host = hosts[static_cast<std::size_t>(worker)];
  const std::uint64_t subtrees =
      subtrees_of(workers_of(own_host, hosts), ranges, num_microbatches).size();
  const std::uint64_t others = distinct(hosts).size() - 1;
  std::uint64_t bytes = 0;
  for (std::size_t bucket = 0; bucket < plan.num_buckets(); ++bucket) {
    for (std::size_t owner = 0; owner < hosts.size(); ++owner) {
      const std::size_t elements = plan.slice(bucket, static_cast<int>(owner)).size();
      bytes += wire_bytes(wire, elements) * (hosts[owner] == own_host ? others : subtrees);
    }
  }
  return bytes;
}

}  // namespace gangway::comm
