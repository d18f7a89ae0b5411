// SPDX-License-Identifier: MIT
// What work costs on a layout: seconds and bytes of each chunk for one micro-batch, links, and
// exchanges. A profile measures them; generators, planner and simulator read them. No third party.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "job/models/network_id.hpp"

namespace gangway::pipeline {

/// Of one micro-batch through one block, or through a chunk of blocks.
struct WorkCosts {
  double forward_seconds = 0.0;
  double input_gradient_seconds = 0.0;    ///< the gradient that goes on to what comes before
  double weight_gradient_seconds = 0.0;   ///< the rest of a backward
  std::array<double, 4> sweep_seconds{};  ///< of a penalty (gan/losses/penalty.hpp)
  double update_seconds = 0.0;            ///< optimiser, by the compute thread, once an update
  std::int64_t output_bytes = 0;    ///< what goes on to the next block or chunk; its gradient too
  std::int64_t stored_bytes = 0;    ///< what forward keeps for backward
  std::int64_t gradient_bytes = 0;  ///< a leaf's: of its weights' gradients
  bool operator==(const WorkCosts&) const = default;
};

/// Of a run of blocks: sums, but for the output, which is the last one's.
[[nodiscard]] WorkCosts joined(std::span<const WorkCosts> blocks);

/// Gradients that are exchanged together (comm/arena/bucket_plan.hpp).
struct BucketCosts {
  /// Share of the phase's last backward of the chunk after which they are complete. Only what a
  /// worker arms for can leave before it reduces.
  double ready = 1.0;
  double seconds = 0.0;  ///< of the lanes of all that have the chunk: there, update, and back
  bool operator==(const BucketCosts&) const = default;
};

struct Link {
  double latency_seconds = 0.0;
  double bytes_per_second = std::numeric_limits<double>::infinity();
  bool operator==(const Link&) const = default;
};

/// How messages travel. Those of one pair of workers go one after another.
struct Links {
  Link within;               ///< a host
  Link between;              ///< hosts; messages of one host to the others share it
  std::vector<int> host_of;  ///< by worker; empty: all on one host
  std::map<std::pair<int, int>, Link> pairs;  ///< from and to: other than the rest, and not shared
};

struct Costs {
  PerNetwork<std::vector<WorkCosts>> chunks;  ///< by chunk of the layout
  /// By chunk, in the order in which they travel. Empty: nothing has to.
  PerNetwork<std::vector<std::vector<BucketCosts>>> buckets;
  std::vector<double> slowness;  ///< factor on a worker's seconds of compute; empty: 1 for all
  Links links;
};

}  // namespace gangway::pipeline
