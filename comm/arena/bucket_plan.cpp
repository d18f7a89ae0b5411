// SPDX-License-Identifier: MIT
#include "comm/arena/bucket_plan.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

#include <xxhash.h>

namespace gangway::comm {
namespace {

// Size of a bucket in relation to the first one, which is smaller.
constexpr std::size_t kShares = 4;

/// Cuts `range` into about `target` buckets, from its end.
void add_buckets(ElementRange range, std::size_t target, std::vector<ElementRange>& buckets) {
  const std::size_t blocks = range.size() / kBlockElements;
  const std::size_t count = std::max<std::size_t>(1, std::min({target, blocks, kMaxBuckets}));
  // The last bucket is the smallest, so that the first message leaves early.
  const std::size_t shares = kShares * (count - 1) + 1;
  const auto cut = [&](std::size_t i) {
    return i == count ? blocks : blocks * kShares * i / shares;
  };
  for (std::size_t i = count; i-- > 0;) {
    const ElementRange bucket{range.begin + cut(i) * kBlockElements,
                              range.begin + cut(i + 1) * kBlockElements};
    if (!bucket.empty()) {
      buckets.push_back(bucket);
    }
  }
}

}  // namespace

BucketPlan::BucketPlan(const ArenaLayout& layout, int num_workers, std::size_t target_buckets)
    : num_workers_(num_workers) {
  add_buckets({0, layout.size()}, target_buckets, buckets_);
  set_hash(layout);
}

BucketPlan::BucketPlan(const ArenaLayout& layout, std::vector<ElementRange> ranges, int num_workers,
                       std::size_t target_buckets)
    : num_workers_(num_workers) {
  std::size_t blocks = 0;
  for (const ElementRange& range : ranges) {
    blocks += range.size() / kBlockElements;
  }
  for (const ElementRange& range : ranges | std::views::reverse) {
    add_buckets(range, target_buckets * (range.size() / kBlockElements) / blocks, buckets_);
  }
  set_hash(layout);
}

void BucketPlan::set_hash(const ArenaLayout& layout) {
  std::vector<std::uint64_t> words{static_cast<std::uint64_t>(num_workers_), layout.size(),
                                   layout.statistics_range().begin};
  for (const std::vector<ArenaEntry>* entries : {&layout.parameters(), &layout.statistics()}) {
    for (const ArenaEntry& entry : *entries) {
      words.push_back(XXH3_64bits(entry.name.data(), entry.name.size()));
      words.push_back(entry.offset);
      words.push_back(entry.elements);
    }
  }
  for (const ElementRange& bucket : buckets_) {
    words.push_back(bucket.begin);
    words.push_back(bucket.end);
  }
  hash_ = XXH3_64bits(words.data(), words.size() * sizeof(std::uint64_t));
}

BucketPlan::BucketPlan(const ArenaLayout& layout, std::vector<std::size_t> begins)
    : BucketPlan(layout, static_cast<int>(begins.size()), /*target_buckets=*/1) {
  begins_ = std::move(begins);
}

BucketPlan BucketPlan::among(std::vector<int> owners, int num_workers) const {
  BucketPlan plan = *this;
  plan.num_workers_ = num_workers;
  std::vector<std::uint64_t> words{hash_, static_cast<std::uint64_t>(num_workers)};
  words.insert(words.end(), owners.begin(), owners.end());
  plan.hash_ = XXH3_64bits(words.data(), words.size() * sizeof(std::uint64_t));
  plan.parts_ = {{.end_bucket = buckets_.size(), .owners = std::move(owners)}};
  return plan;
}

BucketPlan BucketPlan::joined(const std::vector<BucketPlan>& parts) {
  BucketPlan plan = parts.front();
  std::vector<std::uint64_t> words{plan.hash_};
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const BucketPlan& next = parts[i];
    for (Part part : next.parts_) {
      part.end_bucket += plan.buckets_.size();
      plan.parts_.push_back(std::move(part));
    }
    plan.buckets_.insert(plan.buckets_.end(), next.buckets_.begin(), next.buckets_.end());
    words.push_back(next.hash_);
  }
  plan.hash_ = XXH3_64bits(words.data(), words.size() * sizeof(std::uint64_t));
  return plan;
}

int BucketPlan::last_owner() const {
  int last = parts_.empty() ? num_workers_ - 1 : 0;
  for (const Part& part : parts_) {
    last = std::max(last, part.owners.back());
  }
  return last;
}

const std::vector<int>* BucketPlan::owners_of(std::size_t bucket) const {
  const auto part =
      std::ranges::find_if(parts_, [bucket](const Part& one) { return bucket < one.end_bucket; });
  return part == parts_.end() ? nullptr : &part->owners;
}

ElementRange BucketPlan::slice(std::size_t index, int worker) const {
  const ElementRange bucket = buckets_[index];
  int num_owners = num_workers_;
  if (const std::vector<int>* owners = owners_of(index)) {
    const auto owner = std::ranges::find(*owners, worker);
    if (owner == owners->end()) {
      return {bucket.begin, bucket.begin};
    }
    worker = static_cast<int>(owner - owners->begin());
    num_owners = static_cast<int>(owners->size());
  }
  if (!begins_.empty()) {
    const auto at = static_cast<std::size_t>(worker);
    return {begins_[at], at + 1 < begins_.size() ? begins_[at + 1] : bucket.end};
  }
  const std::size_t blocks = bucket.size() / kBlockElements;
  const auto cut = [&](int w) {
    return bucket.begin + blocks * static_cast<std::size_t>(w) /
                              static_cast<std::size_t>(num_owners) * kBlockElements;
  };
  return {cut(worker), cut(worker + 1)};
}

std::size_t num_buckets_of(const ArenaLayout& layout, std::size_t least_bytes) {
  const std::size_t bytes = layout.size() * sizeof(float);
  return std::clamp<std::size_t>(bytes / std::max<std::size_t>(least_bytes, 1), 1, kDefaultBuckets);
}

}  // namespace gangway::comm
