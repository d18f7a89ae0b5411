// SPDX-License-Identifier: MIT
// Computes the norm of the whole mean gradient on all workers, of which each has only its slices.
// Over a tree the first worker gathers the sums of squares of all blocks, adds them in a fixed
// order, and sends the result to all. If a network is cut into chunks, the workers of all its
// chunks take part. Called by Reducer on the lane thread.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "comm/arena/arena.hpp"
#include "comm/arena/bucket_plan.hpp"
#include "comm/host/tree_collective.hpp"
#include "comm/transport/pending.hpp"
#include "comm/transport/transport.hpp"

namespace gangway::comm {

class NormAgreement {
 public:
  /// The workers that agree, and their slices of the network. All pointers outlive the agreement.
  struct Members {
    Transport* transport = nullptr;
    const BucketPlan* plan = nullptr;  ///< slices by worker of `transport`
    std::vector<int> workers = {};     ///< in `transport`, equal on all; includes this worker
  };
  /// All members pass equal layouts and plans. @param network  for message tags
  NormAgreement(Members members, const ArenaLayout& layout, int network);

  void begin();
  /// Sends the squares of this worker's slices of `mean`, which are final. Call it once.
  void offer(const Arena& mean);
  [[nodiscard]] bool is_offered() const { return offered_; }
  /// Returns true if this call has learned the norm. @pre is_offered()
  [[nodiscard]] bool advance();
  [[nodiscard]] bool is_known() const { return known_; }
  /// Squared norm of the parameters' mean gradient, summed by blocks (docs/numerics.md).
  [[nodiscard]] double squared_norm() const { return squared_norm_; }
  /// Requests that are not done.
  [[nodiscard]] std::span<const PendingRequest> pending() const { return tree_.pending(); }
  /// The first member awaited. @pre pending() is not empty
  [[nodiscard]] WorkerIndex awaited() const {
    return members_.transport->number_of(pending().front().peer);
  }

 private:
  /// The slice's blocks that hold parameters.
  [[nodiscard]] ElementRange blocks_of(std::size_t bucket, int worker) const;
  /// @pre all members' squares have arrived
  [[nodiscard]] double sum();
  [[nodiscard]] MessageTag tag() const;

  Members members_;
  const ArenaLayout& layout_;
  int network_;
  TreeCollective tree_;
  std::vector<double> all_squares_;  // squares of blocks, by member, bucket and block
  std::vector<std::size_t> begins_;  // in all_squares_, by member, in bytes
  std::vector<double> squares_;      // by block
  bool offered_ = false;
  bool is_gathered_ = false;
  bool known_ = false;
  double squared_norm_ = 0.0;
};

}  // namespace gangway::comm
