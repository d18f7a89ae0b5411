// SPDX-License-Identifier: MIT
// Cuts an arena for the reduction: into buckets that travel together, and each bucket into one
// slice per worker. The cuts change the speed only; sums and updates are element-wise. Immutable
// within a segment; equal on all workers (they compare the hash before the first lease).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/arena/arena_layout.hpp"

namespace gangway::comm {

/// The most buckets that a MessageTag can number.
inline constexpr std::size_t kMaxBuckets = 128;

class BucketPlan {
 public:
  /// Cuts `layout` into about `target_buckets` buckets of whole blocks, at most kMaxBuckets. Cuts
  /// each bucket into `num_workers` slices. Bucket 0 is the arena's end because the backward pass
  /// completes its gradients first.
  BucketPlan(const ArenaLayout& layout, int num_workers, std::size_t target_buckets);
  /// Cuts only `ranges` of the arena: whole blocks, ascending, none empty. Each range is cut into
  /// separate buckets, about `target_buckets` in all.
  BucketPlan(const ArenaLayout& layout, std::vector<ElementRange> ranges, int num_workers,
             std::size_t target_buckets);
  /// Makes one bucket for an arena that is not reduced: slice w starts at begins[w].
  /// @param begins  [num_workers], ascending; begins[0] is 0
  BucketPlan(const ArenaLayout& layout, std::vector<std::size_t> begins);

  [[nodiscard]] std::size_t num_buckets() const { return buckets_.size(); }
  [[nodiscard]] ElementRange bucket(std::size_t index) const { return buckets_[index]; }
  /// The part of bucket `index` that `worker` reduces, updates and sends out; may be empty.
  [[nodiscard]] ElementRange slice(std::size_t index, int worker) const;
  [[nodiscard]] int num_workers() const { return num_workers_; }
  /// Returns the same cuts for all `num_workers` workers of a job: `owners`, in this order, own the
  /// slices, and the other workers own none. @pre owners.size() equals this plan's num_workers()
  [[nodiscard]] BucketPlan among(std::vector<int> owners, int num_workers) const;
  /// Joins plans of several parts of one arena, each made by `among`. @pre equal num_workers()
  [[nodiscard]] static BucketPlan joined(const std::vector<BucketPlan>& parts);
  /// The highest index of a worker that may own a slice.
  [[nodiscard]] int last_owner() const;
  /// Hash of layout and cuts; equal on all workers of a job.
  [[nodiscard]] std::uint64_t hash() const { return hash_; }

 private:
  /// Consecutive buckets whose slices the same workers own.
  struct Part {
    std::size_t end_bucket = 0;  // exclusive; the part starts where the previous one ends
    std::vector<int> owners;
  };
  void set_hash(const ArenaLayout& layout);
  [[nodiscard]] const std::vector<int>* owners_of(std::size_t bucket) const;

  std::vector<ElementRange> buckets_;
  int num_workers_;
  std::vector<std::size_t> begins_;  // where the one bucket's slices start; empty: equal slices
  std::vector<Part> parts_;          // empty: all workers own slices of all buckets
  std::uint64_t hash_ = 0;
};

/// Default number of buckets of a network: enough to overlap, few enough to fill messages
/// (notes: six to twelve serve a 24 MB network).
inline constexpr std::size_t kDefaultBuckets = 8;
/// Least bucket size on a GPU: each bucket costs launches, and smaller messages are not faster.
inline constexpr std::size_t kLeastDeviceBucketBytes = std::size_t{4} << 20;

/// The number of buckets whose average size is at least `least_bytes`; at least 1, at most
/// kDefaultBuckets.
[[nodiscard]] std::size_t num_buckets_of(const ArenaLayout& layout, std::size_t least_bytes);

}  // namespace gangway::comm
