// SPDX-License-Identifier: MIT
// Reduces one network exactly and directly. Each worker owns a slice of every bucket: it takes the
// others' partials, adds them in tree order, updates the slice, and sends the new weights to all.
// It moves the bytes of a ring all-reduce in a fixed order, and shards the optimiser (ZeRO-1, arXiv
// 1910.02054). Partials and weights are shared memory within a host, and messages between hosts
// (comm/reduce/reduction_routes.hpp). No LibTorch.
//
// The compute thread opens an exchange, marks complete buckets, and later waits on the lane for the
// new weights. Meanwhile the lane advances each bucket through its states. A bucket's weights may
// change once every worker has marked it, because no worker then needs the old ones
// (docs/numerics.md).
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
#include "comm/transport/trace.hpp"
#include "comm/transport/transport.hpp"

namespace gangway::comm {

/// Updates the weights of this worker's slices from reduced gradients.
class SliceUpdater {
 public:
  virtual ~SliceUpdater() = default;
  /// @param range  elements of the arena, multiples of kBlockElements; may include statistics
  /// @param mean   range.size() values: the mean over the micro-batches
  virtual void update(ElementRange range, std::span<const float> mean) = 0;
  /// Called instead of `update` for each piece if the agreement finds that the norm is not finite.
  virtual void skip(ElementRange /*range*/, std::span<const float> /*mean*/) {}
};

/// Number of flags of one network in its host group.
inline constexpr std::size_t kFlagsPerNetwork = 2 * kMaxBuckets;

struct ReducerSetup {
  int network = 0;                      ///< for message tags and flags
  const ArenaLayout* layout = nullptr;  ///< all pointers outlive the reducer
  const BucketPlan* plan = nullptr;
  Arena* weights = nullptr;  ///< shared by the workers of the host
  SliceUpdater* updater = nullptr;
  PartialStack* partials = nullptr;
  HostGroup* host = nullptr;
  std::vector<MicrobatchRange> ranges;  ///< of every worker
  std::vector<int> hosts = {};          ///< by worker; equal values: one host; empty: a host each
  int num_microbatches = 1;
  WireFormat wire = WireFormat::kFp32;  ///< between hosts
  std::chrono::milliseconds timeout{60'000};
  /// Called on the lane's thread, once per exchange at most, when a quarter of the timeout has
  /// passed without progress.
  std::function<void(const std::string&)> on_stall = {};
  LaneTrace* trace = nullptr;  ///< of the lane's thread
  /// The workers that agree on the norm if these hold only a part; empty: these workers.
  NormAgreement::Members norm = {};
};

class Reducer final : public Exchange {
 public:
  using Clock = std::chrono::steady_clock;

  /// @throws InvariantError if plan, ranges or group do not match the transport's workers and all
  /// micro-batches.
  Reducer(Transport& transport, ReducerSetup setup);

  // --- compute thread ---

  /// Begins an exchange. @pre the previous exchange is over
  /// @param agreement  if it is needed, no update starts before the gradient's norm is known
  void open(const Agreement& agreement = {});
  /// Marks `bucket` as final, so that it may leave. Any order; a second call has no effect.
  void bucket_ready(std::size_t bucket);
  /// Marks all buckets as final. Returns how many were not marked before.
  std::size_t all_ready();

  /// The times at which the last exchange's buckets had their new weights. @pre it is over
  [[nodiscard]] std::span<const Clock::time_point> finished_at() const { return finished_at_; }
  /// Squared norm of the last exchange's mean gradient, parameters only, summed by blocks
  /// (docs/numerics.md), with the loss scale. @pre the exchange is over and needed an agreement
  [[nodiscard]] double squared_norm() const { return norm_.squared_norm(); }
  /// Whether the last exchange skipped its updates. @pre it is over
  [[nodiscard]] bool was_skipped() const { return skips_; }
  /// Norm of the mean gradient before clipping, equal on all workers. @pre the exchange is over and
  /// needed an agreement
  [[nodiscard]] double agreed_norm() const { return agreed_norm_; }

  // --- lane ---

  [[nodiscard]] Need needs() const override { return need_.load(std::memory_order_acquire); }
  bool advance() override;

 private:
  /// A bucket's progress through an exchange.
  struct Bucket {
    bool left = false;       ///< own partials folded and published
    bool forwarded = false;  ///< own host's sums are in transit to other hosts
    std::size_t summed = 0;  ///< elements of the own slice
    std::size_t updated = 0;
    bool offered = false;  ///< all new weights that this worker writes are in place
    bool done = false;     ///< the new weights of all workers are in place
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
  /// Sets scale and skip from the norm.
  void decide();
  [[nodiscard]] bool all_done() const;
  void check_deadline();
  /// The worker that blocks the exchange, and the missing data. -1: no worker is known.
  struct Missing {
    WorkerIndex worker{-1};
    std::string what;
  };
  [[nodiscard]] Missing missing() const;
  void set_need();
  [[nodiscard]] ElementRange own_slice(std::size_t bucket) const {
    return setup_.plan->slice(bucket, transport_.worker());
  }
  /// Whether updates must wait because the norm is not known yet.
  [[nodiscard]] bool awaits_norm() const { return agreement_.is_needed && !norm_.is_known(); }
  [[nodiscard]] std::size_t flag(std::size_t stage, std::size_t bucket) const;
  /// Partials of this host's workers, ascending.
  [[nodiscard]] std::vector<TreeSummand> host_partials() const;

  Transport& transport_;
  ReducerSetup setup_;
  ReductionRoutes routes_;
  InterHostMessages messages_;

  // Between the threads.
  std::vector<std::atomic<bool>> ready_;  // by bucket
  std::atomic<std::uint64_t> opened_ = 0;
  std::atomic<Need> need_ = Need::kNothing;
  Agreement agreement_;

  // Lane thread.
  std::uint64_t exchange_ = 0;  // number of the current exchange; also its flags' value
  bool in_hand_ = false;
  std::vector<Bucket> buckets_;
  std::vector<TreeSummand> sources_;  // the host's partials and the other hosts' sums, ascending
  Arena mean_;                        // of one piece, or of all own slices
  NormAgreement norm_;
  float scale_ = 1.0F;  // factor of the parameters' gradient
  bool skips_ = false;
  double agreed_norm_ = 0.0;
  std::vector<Clock::time_point> finished_at_;
  Clock::time_point last_progress_;
  bool stall_reported_ = false;
};

}  // namespace gangway::comm
