// SPDX-License-Identifier: MIT
// Moves one network's data between hosts: sums of whole subtrees to the slices' owners, and new
// weights back (comm/reduce/reduction_routes.hpp defines the routes). Called by Reducer on the lane
// thread. Allocates no heap memory after construction.
//
// In fp32, sums and weights are sent unchanged and without a copy. In bf16 and fp16
// (comm/arena/wire_format.hpp) the sender rounds a sum and adds the rounding error to its next sum.
// Instead of weights it sends their rounded change, and the owner's host applies the same rounded
// change, so all workers have equal weights. The owner keeps the rounding error of its weights.
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

/// Most elements that are summed and updated in one call: a quarter of a megabyte, some tens of
/// microseconds, so that messages progress in between.
inline constexpr std::size_t kPieceElements = 16 * kBlockElements;

struct InterHostMessagesSetup {
  int network = 0;                          ///< for message tags
  const BucketPlan* plan = nullptr;         ///< all pointers outlive this object
  const ReductionRoutes* routes = nullptr;  ///< of this worker
  Arena* weights = nullptr;                 ///< shared by the workers of the host
  WireFormat wire = WireFormat::kFp32;
  std::vector<TreeSummand> partials;  ///< of all workers of the host, ascending
};

class InterHostMessages {
 public:
  InterHostMessages(Transport& transport, InterHostMessagesSetup setup);

  /// The other hosts' sums, ascending within a host; valid only in this worker's slices.
  [[nodiscard]] const std::vector<TreeSummand>& sums() const { return sums_; }

  /// Begins an exchange. @pre the previous exchange is over
  void begin();
  /// Whether the sums of another bucket may be sent, as few enough are in transit.
  [[nodiscard]] bool may_send_sums() const;
  /// Computes and sends the host's sums of a bucket to the owners that this worker serves.
  /// @pre the partials of all workers of the host are final for this bucket
  void send_sums(std::size_t bucket);
  /// Whether all sums for this worker's slice have arrived.
  [[nodiscard]] bool sums_are_here(std::size_t bucket);
  /// Decodes the sums in `piece`, which consists of whole blocks. @pre `piece` lies in an own slice
  /// whose sums have arrived
  void unpack_sums(ElementRange piece);

  /// Call them before and after the updater's work on `piece`: whole blocks of an own slice, up to
  /// kPieceElements. `before_update` restores the updater's own weights; `after_update` stores the
  /// rounded weights that every worker computes.
  void before_update(ElementRange piece);
  void after_update(ElementRange piece);
  /// Sends the slice's new weights to the other hosts. @pre the whole slice is updated
  void send_weights(std::size_t bucket);
  /// Starts receiving the new weights of the owners that this worker serves.
  void expect_weights(std::size_t bucket);
  /// Whether these weights have all arrived; then stores them. @pre no worker of the host reads the
  /// old weights any more
  [[nodiscard]] bool weights_are_here(std::size_t bucket);

  /// Returns true if a send has completed.
  bool poll_sends();
  /// The receiver of a send that is not complete; -1 if none.
  [[nodiscard]] int send_under_way() const;
  /// Receives of `bucket` that are not complete.
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
  /// The buffers that bf16 and fp16 need besides the values.
  struct Rounding {
    Rounding(WireFormat format, std::size_t elements, const ReductionRoutes& routes);
    std::vector<WireArena> sums_out;  // one per host sum; slices of the owners served
    std::vector<Arena> lost_sums;     // one per host sum: its rounding error
    std::vector<WireArena> sums_in;   // one per routes.incoming; own slices
    WireArena weights_out;            // own slices
    Arena lost_weights;               // own slices: the updater's weights minus the rounded weights
    WireArena weights_in;             // slices of the owners served
    std::vector<float> base;          // of one piece: the weights before the update
  };

  [[nodiscard]] MessageTag tag(MessageKind kind, std::size_t bucket, std::size_t part) const;
  [[nodiscard]] ElementRange own_slice(std::size_t bucket) const {
    return setup_.plan->slice(bucket, transport_.worker());
  }

  Transport& transport_;
  InterHostMessagesSetup setup_;
  const ReductionRoutes& routes_;
  std::vector<Bucket> buckets_;
  std::vector<Arena> staged_;            // own host's sums, one per subtree; none if alone
  std::vector<const float*> host_sums_;  // the data to send: staged, or the own partials
  std::vector<Arena> received_;          // one per routes_.incoming; only own slices are touched
  std::vector<TreeSummand> sums_;
  std::optional<Rounding> rounding_;      // none in fp32 and with one host
  std::vector<PendingRequest> sums_out_;  // of a few buckets at a time
  std::vector<PendingRequest> weights_out_;
};

}  // namespace gangway::comm
