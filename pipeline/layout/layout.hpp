// SPDX-License-Identifier: MIT
// Who computes what, as data: where the networks are cut into chunks, which worker has which chunk,
// and which micro-batches it does. Generators of schedules, planner and simulator read it; it knows
// nothing of numbers, which are the job's. No third party.
#pragma once

#include <string>
#include <vector>

#include "job/microbatch_ranges.hpp"
#include "job/models/network_id.hpp"

namespace gangway::pipeline {

/// The blocks [first_block, end_block) of a network, which one worker computes together.
struct Chunk {
  int first_block = 0;
  int end_block = 1;
  bool operator==(const Chunk&) const = default;
};

/// One copy of a network: the micro-batches that go through it, and who has its chunks.
struct Replica {
  MicrobatchRange microbatches;
  std::vector<int> workers;  ///< by chunk; a worker may have several
  bool operator==(const Replica&) const = default;
};

struct NetworkLayout {
  std::vector<Chunk> chunks;      ///< in the order of blocks
  std::vector<Replica> replicas;  ///< in the order of micro-batches: together all of them
  [[nodiscard]] int num_chunks() const { return static_cast<int>(chunks.size()); }
  /// Index of the replica that `microbatch` goes through. @pre one does
  [[nodiscard]] int replica_of(int microbatch) const;
  bool operator==(const NetworkLayout&) const = default;
};

struct Layout {
  int num_workers = 1;
  int num_microbatches = 1;
  PerNetwork<NetworkLayout> networks;
  [[nodiscard]] int worker_of(NetworkId network, int chunk, int microbatch) const;
  bool operator==(const Layout&) const = default;
};

/// @param names  of the job's networks
/// @throws ConfigError naming the network where chunks leave a gap or overlap, replicas do not
/// cover all micro-batches once and in order, a worker does not exist, or has a chunk twice
void check(const Layout& layout, const PerNetwork<std::string>& names);

/// Micro-batches of which one worker's tensors go to another one's network.
struct Route {
  int from = 0;
  int to = 0;
  MicrobatchRange microbatches;
  bool operator==(const Route&) const = default;
};

/// From the last chunk of each of one network's replicas to the first chunk of another's: many to
/// many where their groups differ. Workers that have both are left out.
[[nodiscard]] std::vector<Route> routes(const NetworkLayout& from, const NetworkLayout& to);

}  // namespace gangway::pipeline
