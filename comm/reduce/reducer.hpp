// SPDX-License-Identifier: MIT
// The direct, exact reduction of one network: each worker owns a slice of every bucket, takes the
// others' partials for it, adds them in tree order, updates its slice and gives the new weights to
// all. The bytes are those of a ring all-reduce, the order is fixed, and the optimiser is sharded
// for free (ZeRO-1, arXiv 1910.02054). Within a host partials and weights are shared memory,
// between hosts they are messages (comm/reduce/reduction_routes.hpp).
//
// The compute thread opens an exchange, says which buckets are complete, and later waits on the
// lane for the new weights; in between the lane carries each bucket through its states on its own.
// A bucket's weights may change as soon as every worker has said that it is complete: nobody needs
// the old ones any more (docs/numerics.md).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "comm/arena/arena.hpp"
#include "comm/arena/bucket_plan.hpp"
#include "comm/arena/tree_sum.hpp"
#include "comm/host/host_group.hpp"
#include "comm/lane.hpp"
#include "comm/reduce/inter_host_messages.hpp"
#include "comm/reduce/norm_agreement.hpp"
#include "comm/reduce/partial_stack.hpp"
#include "comm/reduce/reduction_routes.hpp"
#include "comm/reduce/update_plan.hpp"
#include "comm/transport/pending.hpp"
#include "comm/transport/trace.hpp"
#include "comm/transport/transport.hpp"

namespace gangway::comm {

/// Turns reduced gradients into new weights, for the slices that this worker owns.
class SliceUpdater {
 public:
  virtual ~SliceUpdater() = default;
  /// @param range  elements of the arena, multiples of kBlockElements; may reach into the
  /// statistics
  /// @param mean   range.size() values: the mean over the micro-batches
  virtual void update(ElementRange range, std::span<const float> mean) = 0;
  /// In the place of `update` of each piece, where all have agreed that the gradient is not finite.
  virtual void skip(ElementRange range, std::span<const float> mean);
};

/// Flags that one network needs in its host group.
inline constexpr std::size_t kFlagsPerNetwork = 2 * kMaxBuckets;

class Reducer final : public Exchange {
 public:
  using Clock = std::chrono::steady_clock;

  struct Setup {
    int network = 0;                      ///< for tags and flags
    const ArenaLayout* layout = nullptr;  ///< all pointers outlive the reducer
    const BucketPlan* plan = nullptr;
    Arena* weights = nullptr;  ///< shared by the workers of the host
    SliceUpdater* updater = nullptr;
    PartialStack* partials = nullptr;
    HostGroup* host = nullptr;
    std::vector<MicrobatchRange> ranges;  ///< of every worker
    std::vector<int> hosts = {};          ///< by worker: equal on one host; empty: each its own
    int num_microbatches = 1;
    WireFormat wire = WireFormat::kFp32;  ///< between hosts
    std::chrono::milliseconds timeout{60'000};
    /// Called once an exchange, on the lane's thread, when a quarter of the timeout has passed
    /// without progress.
    std::function<void(const std::string&)> on_stall = {};
    LaneTrace* trace = nullptr;  ///< of the lane's thread
    /// Who agrees on the norm, where these workers have only a part of the network; empty: they.
    NormAgreement::Members norm = {};
  };

  /// @throws InvariantError if plan, ranges or group are not those of the transport's workers and
  /// all micro-batches.
  Reducer(Transport& transport, Setup setup);

  // --- compute thread ---

  /// Begins an exchange. @pre the one before is over
  /// @param agreement  where one is needed, no update is made before the gradient's norm is known
  void open(const Agreement& agreement = {});
  /// All that `bucket` holds is final: it may leave. Any order; a second time changes nothing.
  void bucket_ready(std::size_t bucket);
  /// Everything is final. Returns how many buckets had not been said to be.
  std::size_t all_ready();

  /// When the buckets of the last exchange had their new weights. @pre it is over
  [[nodiscard]] std::span<const Clock::time_point> finished_at() const { return finished_at_; }
  /// Squared norm of the last exchange's mean gradient, parameters only, summed by blocks
  /// (docs/numerics.md), still scaled as the losses were. @pre it is over and needed an agreement
  [[nodiscard]] double squared_norm() const { return norm_.squared_norm(); }
  /// Whether its updates were skipped. @pre it is over
  [[nodiscard]] bool was_skipped() const { return skips_; }
  /// Norm of the mean gradient, before clipping, the same on all workers. @pre it is over, and
  /// there was an agreement
  [[nodiscard]] double agreed_norm() const { return agreed_norm_; }

  // --- lane ---

  [[nodiscard]] Need needs() const override { return need_.load(std::memory_order_acquire); }
  bool advance() override;

 private:
  /// A bucket's way through an exchange.
  struct Bucket {
    bool left = false;       ///< own partials folded and offered
    bool forwarded = false;  ///< own host's sums are on their way to other hosts
    std::size_t summed = 0;  ///< elements of the own slice
    std::size_t updated = 0;
    bool offered = false;  ///< the new weights of all that this worker answers for are in place
    bool done = false;     ///< and all other workers'
  };
  void begin();
  bool advance_bucket(std::size_t index);
  [[nodiscard]] LaneEvent event(LaneWork work, std::size_t bucket) const {
    return {{}, {}, work, setup_.network, static_cast<int>(bucket)};
  }
  void leave(std::size_t index);
  bool forward(std::size_t index);
  [[nodiscard]] std::span<float> mean_of(ElementRange piece);
  bool sum(std::size_t index);
  bool update(std::size_t index);
  bool offer(std::size_t index);
  bool advance_agreement();
  /// What follows from the norm.
  void decide();
  [[nodiscard]] bool all_done() const;
  void check_deadline();
  /// The peer that the exchange is blocked on, by its number in the world, and for what; -1 if
  /// there are several.
  struct Missing {
    int worker = -1;
    std::string what;
  };
  [[nodiscard]] Missing missing() const;
  void set_need();
  [[nodiscard]] ElementRange own_slice(std::size_t bucket) const {
    return setup_.plan->slice(bucket, transport_.worker());
  }
  /// Whether nothing may be updated because the norm is not known yet.
  [[nodiscard]] bool awaits_norm() const { return agreement_.is_needed && !norm_.is_known(); }
  [[nodiscard]] std::size_t flag(std::size_t stage, std::size_t bucket) const;
  /// Partials of the workers of the own host, ascending.
  [[nodiscard]] std::vector<TreeSummand> host_partials() const;

  Transport& transport_;
  Setup setup_;
  ReductionRoutes routes_;
  InterHostMessages messages_;

  // Between the threads.
  std::vector<std::atomic<bool>> ready_;  // by bucket
  std::atomic<std::uint64_t> opened_ = 0;
  std::atomic<Need> need_ = Need::kNothing;
  Agreement agreement_;

  // Lane thread.
  std::uint64_t exchange_ = 0;  // number of the one in hand; also the value of its flags
  bool in_hand_ = false;
  std::vector<Bucket> buckets_;
  std::vector<TreeSummand> sources_;  // the host's partials and the other hosts' sums, ascending
  Arena mean_;                        // of one piece, or of all own slices
  NormAgreement norm_;
  float scale_ = 1.0F;  // of the parameters' gradient
  bool skips_ = false;
  double agreed_norm_ = 0.0;
  std::vector<Clock::time_point> finished_at_;
  Clock::time_point last_progress_;
  bool stall_told_ = false;
};

}  // namespace gangway::comm
