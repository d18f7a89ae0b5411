// SPDX-License-Identifier: MIT
// The direct, exact reduction of one network: each worker owns a slice of every bucket, receives
// the others' partials for it, adds them in tree order, updates its slice and hands the new weights
// out. The bytes are those of a ring all-reduce, the order is fixed, and the optimiser is sharded
// for free (ZeRO-1, arXiv 1910.02054).
//
// Lane thread only. Between `reduce` and the end of `update` nobody else may touch the weights or
// the partials.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <vector>

#include "comm/arena.hpp"
#include "comm/bucket_plan.hpp"
#include "comm/partial_stack.hpp"
#include "comm/pending.hpp"
#include "comm/transport.hpp"

namespace gangway::comm {

/// Turns reduced gradients into new weights, for the slices that this worker owns.
class SliceUpdater {
 public:
  virtual ~SliceUpdater() = default;
  /// @param range  elements of the arena, multiples of kBlockElements; may reach into the
  /// statistics
  /// @param mean   range.size() values: the mean over the micro-batches
  virtual void update(ElementRange range, std::span<const float> mean) = 0;
};

/// A decision that needs all gradients before any update (design.md, part 4, `Agree`).
struct Agreement {
  double squared_norm =
      0.0;  ///< of the mean gradient, parameters only, summed by blocks (docs/numerics.md)
};

class Reducer {
 public:
  struct Setup {
    int network = 0;                      ///< for the tags
    const ArenaLayout* layout = nullptr;  ///< outlives the reducer, as do plan, weights, updater
    const BucketPlan* plan = nullptr;
    Arena* weights = nullptr;
    SliceUpdater* updater = nullptr;
    std::vector<MicrobatchRange> ranges;  ///< of every worker
    int num_microbatches = 1;
    std::chrono::milliseconds timeout{60'000};
  };

  /// @throws InvariantError if plan or ranges are not those of the transport's workers and all
  /// micro-batches.
  Reducer(Transport& transport, Setup setup);

  /// Starts sending the partials and receiving the others' for the own slices. Returns at once.
  /// @throws InvariantError if `partials` are not the whole subtrees of this worker's range: the
  /// others would wait.
  void start(const std::vector<PartialStack::Partial>& partials);
  /// Waits for all partials and sums the own slices; every worker then knows the norm. For jobs
  /// that clip.
  /// @throws CommError naming the silent worker.
  [[nodiscard]] Agreement agree();
  /// Sums what `agree` has not summed yet, bucket by bucket, updates the own slices from `scale`
  /// times the mean gradient, sends them and receives everybody else's: afterwards all weights are
  /// new and equal.
  /// @throws CommError naming the silent worker.
  void update(float scale);

 private:
  struct Incoming {
    int peer = 0;
    MicrobatchRange microbatches;
    std::vector<std::vector<float>> slices;  // by bucket
  };

  void start_bucket(std::size_t bucket);
  void sum_bucket(std::size_t bucket);
  void share_bucket(std::size_t bucket, float scale);
  [[nodiscard]] MessageTag tag(MessageKind kind, std::size_t bucket, std::size_t part) const;

  Transport& transport_;
  Setup setup_;
  std::vector<Incoming> incoming_;  // all partials of the other workers
  std::vector<PartialStack::Partial> own_;
  Arena mean_;                                         // own slices only are touched
  std::vector<std::vector<PendingRequest>> receives_;  // by bucket
  std::vector<PendingRequest> sends_;
  std::vector<PendingRequest> weights_in_;
  bool summed_ = false;
};

}  // namespace gangway::comm
