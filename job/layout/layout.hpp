// SPDX-License-Identifier: MIT
// A layout as a value: the workers of each network or chunk, their micro-batches, and how they
// execute their lists. Networks may be placed apart and cut (docs/pipeline-stages.md). The
// coordinator resolves it once and sends it to all workers, which read no other. Pure.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "job/layout/microbatch_ranges.hpp"
#include "job/layout/stage_cuts.hpp"
#include "job/spec.hpp"

namespace gangway {

/// The workers that share one network's micro-batches. In a cut network every chunk has as many
/// workers, listed chunk after chunk, and these share all micro-batches.
struct NetworkGroup {
  std::vector<int> workers;             ///< ascending within each chunk
  std::vector<MicrobatchRange> ranges;  ///< by index in `workers`; a chunk's ranges join to [0, M)
  std::vector<BlockRange> chunks = {BlockRange{}};

  [[nodiscard]] int num_chunks() const { return static_cast<int>(chunks.size()); }
  [[nodiscard]] bool is_cut() const { return chunks.size() > 1; }
  [[nodiscard]] bool has(int worker) const;
  /// Returns the micro-batches of `worker`; empty if it is no member.
  [[nodiscard]] MicrobatchRange range_of(int worker) const;
  /// Returns the chunk that `worker` holds; nothing if it is no member.
  [[nodiscard]] std::optional<ChunkIndex> chunk_of(int worker) const;
  /// Returns the worker that applies the chunk for `microbatch`.
  [[nodiscard]] int worker_of(int microbatch, ChunkIndex chunk = {}) const;
  /// Returns the workers that hold the chunk, as a group of its own.
  [[nodiscard]] NetworkGroup group_of(ChunkIndex chunk) const;
  bool operator==(const NetworkGroup&) const = default;
};

/// By network, the workers that hold it.
struct Layout : PerNetwork<NetworkGroup>, Execution {
  using PerNetwork::PerNetwork;

  /// Returns W. Workers are 0..W-1; each holds a network or a chunk.
  [[nodiscard]] int num_workers() const;
  /// Returns whether a worker lacks a network, or a part of one.
  [[nodiscard]] bool is_apart() const;
  /// Returns whether a network is cut.
  [[nodiscard]] bool is_cut() const { return std::ranges::any_of(*this, &NetworkGroup::is_cut); }
  /// Returns the shortest range with all micro-batches of `worker`, over all networks.
  [[nodiscard]] MicrobatchRange range_of(int worker) const;
  /// Returns the ranges, by worker, of a network that all hold whole; empty if there is none.
  [[nodiscard]] std::vector<MicrobatchRange> shared_ranges() const;
  /// Returns the most micro-batches whose data for backward a worker keeps, if networks are cut; 0:
  /// any number.
  [[nodiscard]] int most_in_flight() const;
  /// Returns a worker's share, "generator, discriminator 1/2"; empty if all hold all networks.
  [[nodiscard]] std::string held_by(int worker, const PerNetwork<std::string>& names) const;
  bool operator==(const Layout&) const = default;
};

/// Places the networks of `job` on `workers` by `choice`. All hold a network that is not placed.
/// @throws ConfigError, one line with the remedy: no such worker, a worker without a network, or a
/// group with more members than micro-batches
[[nodiscard]] Layout resolve_layout(const Job& job, const LayoutChoice& choice, int workers);
[[nodiscard]] inline Layout resolve_layout(const JobSpec& job, int workers) {
  return resolve_layout(job, job.layout, workers);
}

}  // namespace gangway
