// SPDX-License-Identifier: MIT
#include "pipeline/layout/layout.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "base/errors.hpp"

namespace gangway::pipeline {
namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& problem) {
  throw ConfigError("layout of the " + name + ": " + problem);
}

std::string text_of(MicrobatchRange range) {
  return "[" + std::to_string(range.begin) + ", " + std::to_string(range.end) + ")";
}

void check_chunks(const NetworkLayout& network, const std::string& name) {
  int next = 0;
  for (const Chunk& chunk : network.chunks) {
    if (chunk.first_block != next || chunk.end_block <= chunk.first_block) {
      refuse(name, "a chunk of blocks [" + std::to_string(chunk.first_block) + ", " +
                       std::to_string(chunk.end_block) + ") cannot follow block " +
                       std::to_string(next) + ": chunks begin where the last one ended");
    }
    next = chunk.end_block;
  }
  if (network.chunks.empty()) {
    refuse(name, "it has no chunks");
  }
}

void check_replicas(const Layout& layout, const NetworkLayout& network, const std::string& name) {
  int next = 0;
  std::set<std::pair<int, int>> taken;  // worker and chunk
  for (const Replica& replica : network.replicas) {
    if (replica.microbatches.begin != next || replica.microbatches.size() < 1) {
      refuse(name, "micro-batches " + text_of(replica.microbatches) + " cannot follow number " +
                       std::to_string(next - 1) + ": every one belongs to one replica, in order");
    }
    next = replica.microbatches.end;
    if (replica.workers.size() != network.chunks.size()) {
      refuse(name, "the replica of micro-batches " + text_of(replica.microbatches) + " names " +
                       std::to_string(replica.workers.size()) + " workers for " +
                       std::to_string(network.chunks.size()) + " chunks");
    }
    for (int chunk = 0; chunk < network.num_chunks(); ++chunk) {
      const int worker = replica.workers[static_cast<std::size_t>(chunk)];
      if (worker < 0 || worker >= layout.num_workers) {
        refuse(name, "there is no worker " + std::to_string(worker) + " among " +
                         std::to_string(layout.num_workers));
      }
      if (!taken.emplace(worker, chunk).second) {
        refuse(name, "worker " + std::to_string(worker) + " has chunk " + std::to_string(chunk) +
                         " in two replicas: give it one range of micro-batches");
      }
    }
  }
  if (next != layout.num_microbatches) {
    refuse(name, "its replicas have " + std::to_string(next) + " of " +
                     std::to_string(layout.num_microbatches) + " micro-batches");
  }
}

}  // namespace

int NetworkLayout::replica_of(int microbatch) const {
  const auto found = std::ranges::upper_bound(
      replicas, microbatch, {}, [](const Replica& replica) { return replica.microbatches.begin; });
  return static_cast<int>(found - replicas.begin()) - 1;
}

int Layout::worker_of(NetworkId network, int chunk, int microbatch) const {
  const NetworkLayout& one = networks[network];
  return one.replicas[static_cast<std::size_t>(one.replica_of(microbatch))]
      .workers[static_cast<std::size_t>(chunk)];
}

void check(const Layout& layout, const PerNetwork<std::string>& names) {
  if (layout.networks.size() != names.size()) {
    throw ConfigError("the layout is of " + std::to_string(layout.networks.size()) +
                      " networks, the job has " + std::to_string(names.size()));
  }
  for (const NetworkId network : layout.networks.ids()) {
    check_chunks(layout.networks[network], names[network]);
    check_replicas(layout, layout.networks[network], names[network]);
  }
}

std::vector<Route> routes(const NetworkLayout& from, const NetworkLayout& to) {
  std::vector<Route> result;
  for (const Replica& source : from.replicas) {
    for (const Replica& target : to.replicas) {
      const MicrobatchRange both{std::max(source.microbatches.begin, target.microbatches.begin),
                                 std::min(source.microbatches.end, target.microbatches.end)};
      if (both.size() > 0 && source.workers.back() != target.workers.front()) {
        result.push_back({source.workers.back(), target.workers.front(), both});
      }
    }
  }
  return result;
}

}  // namespace gangway::pipeline
