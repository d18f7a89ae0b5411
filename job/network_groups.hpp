// SPDX-License-Identifier: MIT
// Which workers hold which network, or which chunk of it, and the micro-batches for which they
// apply it: networks may be apart (docs/networks-apart.md) and cut (docs/pipeline-stages.md). Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "job/microbatch_ranges.hpp"
#include "job/spec.hpp"
#include "job/stage_cuts.hpp"

namespace gangway {

/// The workers that share one network's micro-batches. Of one that is cut each chunk has as many,
/// one chunk's behind the other's, and they share all micro-batches.
struct NetworkGroup {
  std::vector<int> workers;             ///< of each chunk ascending
  std::vector<MicrobatchRange> ranges;  ///< by place in `workers`; a chunk's join to [0, M)
  std::vector<BlockRange> chunks = {BlockRange{}};

  [[nodiscard]] int num_chunks() const { return static_cast<int>(chunks.size()); }
  [[nodiscard]] bool is_cut() const { return chunks.size() > 1; }
  [[nodiscard]] bool has(int worker) const;
  /// What `worker` has of it; empty where it is no member.
  [[nodiscard]] MicrobatchRange range_of(int worker) const;
  /// The chunk that `worker` holds; nothing where it is no member.
  [[nodiscard]] std::optional<int> chunk_of(int worker) const;
  /// Who applies the chunk for `microbatch`.
  [[nodiscard]] int worker_of(int microbatch, int chunk = 0) const;
  /// Who holds the chunk, as a group of its own.
  [[nodiscard]] NetworkGroup group_of(int chunk) const;
  bool operator==(const NetworkGroup&) const = default;
};

/// By network, as the job's layout places them among `workers`; whoever is not placed is held by
/// all.
/// @throws ConfigError, one line with the remedy, where there is no such worker, a worker holds no
/// network, or a group has more members than there are micro-batches
[[nodiscard]] PerNetwork<NetworkGroup> network_groups(const JobSpec& job, int workers);

/// Whether some worker does without some network, or a part of one.
[[nodiscard]] bool are_apart(const PerNetwork<NetworkGroup>& groups);
/// Whether the layout names workers of a network, or cuts one.
[[nodiscard]] bool places_networks(const JobSpec& job);

/// Micro-batches of which a worker keeps what their backwards need, at most, where networks are
/// cut; 0: any number.
[[nodiscard]] int most_in_flight(const PerNetwork<NetworkGroup>& groups, StageOrder order,
                                 int in_flight);

/// All micro-batches of `worker`, whatever the network: the shortest range that has them.
[[nodiscard]] MicrobatchRange range_of_all(const PerNetwork<NetworkGroup>& groups, int worker);

}  // namespace gangway
