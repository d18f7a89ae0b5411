// SPDX-License-Identifier: MIT
// How an arena is cut for the reduction: into buckets that travel together, each bucket into one
// slice a worker. The cuts decide the speed only; sums and updates are element-wise. Immutable
// within a segment; equal on all workers (hash compared before the first lease).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/arena/arena_layout.hpp"

namespace gangway::comm {

/// As many as MessageTag can name.
inline constexpr std::size_t kMaxBuckets = 128;

class BucketPlan {
 public:
  /// Cuts `layout` into about `target_buckets` buckets of whole blocks (never more than kMaxBuckets
  /// or than there are blocks) and each of them into `num_workers` slices. Bucket 0 lies at the end
  /// of the arena: its gradients are ready first in backward.
  BucketPlan(const ArenaLayout& layout, int num_workers, std::size_t target_buckets);
  /// The same of a part of the arena alone, `ranges` of whole blocks, ascending, none of them
  /// empty; each has buckets of its own, about `target_buckets` of them together.
  BucketPlan(const ArenaLayout& layout, std::vector<ElementRange> ranges, int num_workers,
             std::size_t target_buckets);
  /// One bucket, for what nobody reduces: its slices begin where each worker's part of `layout`
  /// does. @param begins  ascending, by worker; the first is 0
  BucketPlan(const ArenaLayout& layout, std::vector<std::size_t> begins);

  [[nodiscard]] std::size_t num_buckets() const { return buckets_.size(); }
  [[nodiscard]] ElementRange bucket(std::size_t index) const { return buckets_[index]; }
  /// The part of bucket `index` that `worker` reduces, updates and hands out; may be empty.
  [[nodiscard]] ElementRange slice(std::size_t index, int worker) const;
  [[nodiscard]] int num_workers() const { return num_workers_; }
  /// The same cuts as all workers of a job see them, of whom `owners` have its slices, in this
  /// order, and the others none. @pre it is a plan for as many workers as there are owners
  [[nodiscard]] BucketPlan among(std::vector<int> owners, int num_workers) const;
  /// Plans of several parts of one arena, each among its owners, as one. @pre for equal workers
  [[nodiscard]] static BucketPlan joined(const std::vector<BucketPlan>& parts);
  /// The last worker that may own something.
  [[nodiscard]] int last_owner() const;
  /// Of layout and cuts; equal on all workers of a job.
  [[nodiscard]] std::uint64_t hash() const { return hash_; }

 private:
  /// Buckets that the same workers have slices of.
  struct Part {
    std::size_t end_bucket = 0;  // the part before ends where it begins
    std::vector<int> owners;
  };
  void set_hash(const ArenaLayout& layout);
  [[nodiscard]] const std::vector<int>* owners_of(std::size_t bucket) const;

  std::vector<ElementRange> buckets_;
  int num_workers_;
  std::vector<std::size_t> begins_;  // of one bucket's slices; empty: equal ones
  std::vector<Part> parts_;          // empty: all workers have slices of all
  std::uint64_t hash_ = 0;
};

/// Buckets a network is cut into unless told otherwise: enough to overlap, few enough to fill
/// messages (notes: six to twelve serve a 24 MB network).
inline constexpr std::size_t kDefaultBuckets = 8;
/// On a device, where each bucket costs launches and messages of less are not faster.
inline constexpr std::size_t kLeastDeviceBucketBytes = std::size_t{4} << 20;

/// As many buckets as make them, on average, of `least_bytes` at least; never more than
/// kDefaultBuckets.
[[nodiscard]] std::size_t num_buckets_of(const ArenaLayout& layout, std::size_t least_bytes);

}  // namespace gangway::comm
