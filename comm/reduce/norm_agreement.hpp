// SPDX-License-Identifier: MIT
// How the workers come to know the norm of the whole mean gradient, of which each has only its
// slices: over a tree every worker tells the first the sums of squares of its blocks, which adds up
// all of them in one order and tells all. Of a network that is cut those who hold its other chunks
// are among them. Made by a Reducer; lane thread only.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "comm/arena/arena.hpp"
#include "comm/arena/bucket_plan.hpp"
#include "comm/host/tree_talk.hpp"
#include "comm/transport/pending.hpp"
#include "comm/transport/transport.hpp"

namespace gangway::comm {

class NormAgreement {
 public:
  /// Who agrees, and what of the network each of them has. All pointers outlive the agreement.
  struct Members {
    Transport* transport = nullptr;
    const BucketPlan* plan = nullptr;  ///< by worker of `transport`
    std::vector<int> workers = {};     ///< of `transport`, equal lists; the own one is among them
  };
  /// All members begin with equal layouts and plans. @param network  for tags
  NormAgreement(Members members, const ArenaLayout& layout, int network);

  void begin();
  /// Tells of the own slices of `mean`, which hold their final values. Once.
  void offer(const Arena& mean);
  [[nodiscard]] bool is_offered() const { return offered_; }
  /// True when this call has learned the norm. @pre offered
  [[nodiscard]] bool advance();
  [[nodiscard]] bool is_known() const { return known_; }
  /// Squared norm of the parameters' mean gradient, summed by blocks (docs/numerics.md). @pre known
  [[nodiscard]] double squared_norm() const { return squared_norm_; }
  /// What is still on its way.
  [[nodiscard]] std::span<const PendingRequest> pending() const { return tree_.pending(); }
  /// By which people know the first member that is waited for. @pre something is on its way
  [[nodiscard]] int awaited() const {
    return members_.transport->number_of(pending().front().peer);
  }

 private:
  /// Blocks of parameters in the slice.
  [[nodiscard]] ElementRange blocks_of(std::size_t bucket, int worker) const;
  /// @pre all members' squares are there
  [[nodiscard]] double sum();
  [[nodiscard]] MessageTag tag() const;

  Members members_;
  const ArenaLayout& layout_;
  int network_;
  TreeTalk tree_;
  std::vector<double> told_;         // squares of blocks, by member, bucket and block
  std::vector<std::size_t> begins_;  // in told_, by member, in bytes
  std::vector<double> squares_;      // by block
  bool offered_ = false;
  bool is_gathered_ = false;
  bool known_ = false;
  double squared_norm_ = 0.0;
};

}  // namespace gangway::comm
