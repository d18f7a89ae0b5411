// SPDX-License-Identifier: MIT
#include "comm/arena/bucket_plan.hpp"

#include <algorithm>
#include <utility>

#include <xxhash.h>

namespace gangway::comm {
namespace {

// How many times as large as the first bucket the others are.
constexpr std::size_t kShares = 4;

}  // namespace

BucketPlan::BucketPlan(const ArenaLayout& layout, int num_workers, std::size_t target_buckets)
    : num_workers_(num_workers) {
  const std::size_t blocks = layout.num_blocks();
  const std::size_t count =
      std::max<std::size_t>(1, std::min({target_buckets, blocks, kMaxBuckets}));
  // The bucket at the end of the arena is the smallest: it leaves first, and the sooner the better.
  const std::size_t shares = kShares * (count - 1) + 1;
  const auto cut = [&](std::size_t i) {
    return i == count ? blocks : blocks * kShares * i / shares;
  };
  for (std::size_t i = count; i-- > 0;) {
    const ElementRange range{cut(i) * kBlockElements, cut(i + 1) * kBlockElements};
    if (!range.empty()) {
      buckets_.push_back(range);
    }
  }
  std::vector<std::uint64_t> words{static_cast<std::uint64_t>(num_workers), layout.size(),
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
  plan.owners_ = std::move(owners);
  return plan;
}

ElementRange BucketPlan::slice(std::size_t index, int worker) const {
  const ElementRange bucket = buckets_[index];
  int num_owners = num_workers_;
  if (!owners_.empty()) {
    const auto owner = std::ranges::find(owners_, worker);
    if (owner == owners_.end()) {
      return {bucket.begin, bucket.begin};
    }
    worker = static_cast<int>(owner - owners_.begin());
    num_owners = static_cast<int>(owners_.size());
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
