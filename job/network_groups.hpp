// SPDX-License-Identifier: MIT
// Which workers hold which network, and of each the micro-batches for which they apply it: networks
// may be apart (docs/networks-apart.md). Pure.
#pragma once

#include <string>
#include <vector>

#include "job/microbatch_ranges.hpp"
#include "job/spec.hpp"

namespace gangway {

/// The workers that share one network's micro-batches.
struct NetworkGroup {
  std::vector<int> workers;             ///< ascending
  std::vector<MicrobatchRange> ranges;  ///< by place in `workers`; they join to [0, M)

  [[nodiscard]] bool has(int worker) const;
  /// What `worker` has of it; empty where it is no member.
  [[nodiscard]] MicrobatchRange range_of(int worker) const;
  /// Who applies the network for `microbatch`.
  [[nodiscard]] int worker_of(int microbatch) const;
  bool operator==(const NetworkGroup&) const = default;
};

/// By network, as the job's layout places them among `workers`; whoever is not placed is held by
/// all.
/// @throws ConfigError, one line with the remedy, where there is no such worker, a worker holds no
/// network, or a group has more members than there are micro-batches
[[nodiscard]] PerNetwork<NetworkGroup> network_groups(const JobSpec& job, int workers);

/// Whether some worker does without some network.
[[nodiscard]] bool are_apart(const PerNetwork<NetworkGroup>& groups);
/// Whether the layout names workers of a network.
[[nodiscard]] bool places_networks(const JobSpec& job);

/// All micro-batches of `worker`, whatever the network: the shortest range that has them.
[[nodiscard]] MicrobatchRange range_of_all(const PerNetwork<NetworkGroup>& groups, int worker);

}  // namespace gangway
