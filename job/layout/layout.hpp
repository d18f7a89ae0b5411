// SPDX-License-Identifier: MIT
// A layout as a value: which workers hold which network, or which chunk of it, the micro-batches
// for which they apply it, and how they carry their lists out. Networks may be placed apart
// (docs/pipeline-stages.md) and cut (docs/pipeline-stages.md). The coordinator resolves it once and
// sends it to all workers, which read no other. Pure.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "job/layout/microbatch_ranges.hpp"
#include "job/layout/stage_cuts.hpp"
#include "job/spec.hpp"

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
  /// The worker that applies the chunk for `microbatch`.
  [[nodiscard]] int worker_of(int microbatch, int chunk = 0) const;
  /// The workers that hold the chunk, as a group of its own.
  [[nodiscard]] NetworkGroup group_of(int chunk) const;
  bool operator==(const NetworkGroup&) const = default;
};

/// By network, the workers that hold it.
struct Layout : PerNetwork<NetworkGroup>, Execution {
  using PerNetwork::PerNetwork;

  /// W; their indices are 0..W-1, and each holds something.
  [[nodiscard]] int num_workers() const;
  /// Whether some worker does without some network, or a part of one.
  [[nodiscard]] bool is_apart() const;
  /// Whether some network is cut.
  [[nodiscard]] bool is_cut() const { return std::ranges::any_of(*this, &NetworkGroup::is_cut); }
  /// All micro-batches of `worker`, whatever the network: the shortest range that has them.
  [[nodiscard]] MicrobatchRange range_of(int worker) const;
  /// By worker, of a network that all hold whole; empty where there is none.
  [[nodiscard]] std::vector<MicrobatchRange> shared_ranges() const;
  /// Micro-batches of which a worker keeps what their backwards need, at most, where networks are
  /// cut; 0: any number.
  [[nodiscard]] int most_in_flight() const;
  /// "generator, discriminator 1/2" of a worker, where not all hold all; else empty.
  [[nodiscard]] std::string held_by(int worker, const PerNetwork<std::string>& names) const;
  bool operator==(const Layout&) const = default;
};

/// Places the networks of `job` among `workers` by `choice`; all hold a network that is not placed.
/// @throws ConfigError, one line with the remedy, where there is no such worker, a worker holds no
/// network, or a group has more members than there are micro-batches
[[nodiscard]] Layout resolve_layout(const Job& job, const LayoutChoice& choice, int workers);
[[nodiscard]] inline Layout resolve_layout(const JobSpec& job, int workers) {
  return resolve_layout(job, job.layout, workers);
}

}  // namespace gangway
