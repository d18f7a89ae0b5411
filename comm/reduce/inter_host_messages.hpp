// SPDX-License-Identifier: MIT
// What travels between hosts in the reduction of one network: sums of whole subtrees to the owners
// of slices, new weights back (comm/reduce/reduction_routes.hpp says who sends what). Made by a
// Reducer, which says when; lane thread only. No heap allocation once made.
//
// In fp32 both travel as they are, from and to where they lie. In bf16 and fp16
// (comm/arena/wire_format.hpp) sums are rounded by their sender, who keeps what was lost for its
// next sum; of the weights travels the way from the old ones, which the owner's own host then goes
// too: so all have the same weights, and the owner keeps how far those are from what the updater
// made of them.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "comm/arena/arena.hpp"
#include "comm/arena/bucket_plan.hpp"
#include "comm/arena/tree_sum.hpp"
#include "comm/arena/wire_format.hpp"
#include "comm/reduce/reduction_routes.hpp"
#include "comm/transport/message_tag.hpp"
#include "comm/transport/pending.hpp"
#include "comm/transport/transport.hpp"

namespace gangway::comm {

/// Most elements that are summed and updated in one go: a quarter of a megabyte, some tens of
/// microseconds, so that messages keep moving in between.
inline constexpr std::size_t kPieceElements = 16 * kBlockElements;

class InterHostMessages {
 public:
  struct Setup {
    int network = 0;                          ///< for tags
    const BucketPlan* plan = nullptr;         ///< all pointers outlive this
    const ReductionRoutes* routes = nullptr;  ///< of this worker
    Arena* weights = nullptr;                 ///< shared by the workers of the host
    WireFormat wire = WireFormat::kFp32;
    std::vector<TreeSummand> partials;  ///< of all workers of the host, ascending
  };
  InterHostMessages(Transport& transport, Setup setup);

  /// The other hosts' sums, ascending within a host; in the own slices only.
  [[nodiscard]] const std::vector<TreeSummand>& sums() const { return sums_; }

  /// Begins an exchange. @pre the one before is over
  void begin();
  /// Whether few enough sums are on their way that those of another bucket may follow.
  [[nodiscard]] bool may_send_sums() const;
  /// Adds up and sends the host's sums of a bucket to the owners that this worker serves.
  /// @pre the partials of all workers of the host are final there
  void send_sums(std::size_t bucket);
  /// Whether all sums for the own slice have come.
  [[nodiscard]] bool sums_are_here(std::size_t bucket);
  /// Makes `piece`, whole blocks, of the sums readable. @pre it lies in an own slice whose sums are
  /// here
  void unpack_sums(ElementRange piece);

  /// To be called around the updater's work on `piece`, whole blocks of an own slice, at most
  /// kPieceElements: before, so that it goes on from what it made last time, after, so that the
  /// weights are those that everybody arrives at.
  void before_update(ElementRange piece);
  void after_update(ElementRange piece);
  /// Sends the new weights of the own slice to the other hosts. @pre all of it is updated
  void send_weights(std::size_t bucket);
  /// From now on new weights of the owners that this worker serves may come.
  void expect_weights(std::size_t bucket);
  /// Whether they all have come, and are in place. @pre the host's workers need the old ones no
  /// more
  [[nodiscard]] bool weights_are_here(std::size_t bucket);

  /// True if something that was being sent has left.
  bool poll_sends();
  /// A worker to which something is still being sent; -1: none.
  [[nodiscard]] int send_under_way() const;
  /// What has not come yet of what is expected now.
  [[nodiscard]] std::span<const PendingRequest> sums_in(std::size_t bucket) const {
    return buckets_[bucket].sums_in;
  }
  [[nodiscard]] std::span<const PendingRequest> weights_in(std::size_t bucket) const {
    return buckets_[bucket].weights_in;
  }

 private:
  struct Bucket {
    std::vector<PendingRequest> sums_in;
    std::vector<PendingRequest> weights_in;
    bool weights_added = true;
  };
  /// What bf16 and fp16 need beside the values themselves.
  struct Rounding {
    Rounding(WireFormat format, std::size_t elements, const ReductionRoutes& routes);
    std::vector<WireArena> sums_out;  // one a host sum; slices of the owners served
    std::vector<Arena> lost_sums;     // likewise: what their rounding lost
    std::vector<WireArena> sums_in;   // one a routes.incoming; own slices
    WireArena weights_out;            // own slices
    Arena lost_weights;               // own slices: what the updater made less what everybody has
    WireArena weights_in;             // slices of the owners served
    std::vector<float> base;          // the weights that everybody had, of one piece
  };

  [[nodiscard]] MessageTag tag(MessageKind kind, std::size_t bucket, std::size_t part) const;
  [[nodiscard]] ElementRange own_slice(std::size_t bucket) const {
    return setup_.plan->slice(bucket, transport_.worker());
  }

  Transport& transport_;
  Setup setup_;
  const ReductionRoutes& routes_;
  std::vector<Bucket> buckets_;
  std::vector<Arena> staged_;            // own host's sums, one a subtree; none when alone
  std::vector<const float*> host_sums_;  // what is sent: staged, or the own partials
  std::vector<Arena> received_;          // one a routes_.incoming; own slices only are touched
  std::vector<TreeSummand> sums_;
  std::optional<Rounding> rounding_;      // none in fp32 and where there is one host
  std::vector<PendingRequest> sums_out_;  // of a few buckets at a time
  std::vector<PendingRequest> weights_out_;
};

}  // namespace gangway::comm
