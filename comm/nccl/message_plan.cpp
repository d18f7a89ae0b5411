// SPDX-License-Identifier: MIT
#include "comm/nccl/message_plan.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "comm/cuda/compile_sum.hpp"

namespace gangway::comm {
namespace {

/// A partial of any worker, in the tree's order.
struct Summand {
  MicrobatchRange microbatches;
  int worker = 0;
  std::size_t partial = 0;  ///< index among the worker's
};

std::vector<Summand> all_summands(const std::vector<MicrobatchRange>& ranges,
                                  int num_microbatches) {
  std::vector<Summand> summands;
  for (std::size_t worker = 0; worker < ranges.size(); ++worker) {
    std::size_t partial = 0;
    for (const MicrobatchRange& subtree : whole_subtrees(ranges[worker], num_microbatches)) {
      summands.push_back({subtree, static_cast<int>(worker), partial++});
    }
  }
  std::ranges::sort(summands, {}, [](const Summand& s) { return s.microbatches.begin; });
  return summands;
}

}  // namespace

MessagePlan::MessagePlan(const BucketPlan& plan, const std::vector<MicrobatchRange>& ranges,
                         int num_microbatches, int worker) {
  if (static_cast<std::size_t>(plan.num_workers()) != ranges.size() || worker < 0 ||
      worker >= plan.num_workers()) {
    throw InvariantError(
        fmt::format("worker {}: a plan for {} workers and ranges of {}; please report this", worker,
                    plan.num_workers(), ranges.size()));
  }
  const std::vector<Summand> summands = all_summands(ranges, num_microbatches);
  std::vector<MicrobatchRange> subtrees;
  for (const Summand& summand : summands) {
    subtrees.push_back(summand.microbatches);
  }
  program_ = tree_sum_program(subtrees, num_microbatches);
  own_ = whole_subtrees(ranges[static_cast<std::size_t>(worker)], num_microbatches);

  for (std::size_t index = 0; index < plan.num_buckets(); ++index) {
    Bucket bucket{.slice = plan.slice(index, worker)};
    for (const Summand& summand : summands) {
      if (bucket.slice.empty()) {
        break;
      }
      if (summand.worker == worker) {
        bucket.sources.push_back({.is_own = true, .partial = summand.partial});
        continue;
      }
      bucket.sources.push_back({.is_own = false, .buffer_offset = receive_elements_});
      bucket.receives.push_back(
          {summand.worker, summand.partial, receive_elements_, bucket.slice.size()});
      receive_elements_ += bucket.slice.size();
    }
    // A worker's subtrees ascend, so its partials do too: the order in which it sends them.
    std::ranges::stable_sort(bucket.receives, {}, &PartialReceive::peer);
    for (int peer = 0; peer < plan.num_workers(); ++peer) {
      if (peer == worker) {
        continue;
      }
      const ElementRange theirs = plan.slice(index, peer);
      for (std::size_t partial = 0; partial < own_.size() && !theirs.empty(); ++partial) {
        bucket.sends.push_back({peer, partial, theirs});
      }
      if (!bucket.slice.empty()) {
        bucket.weight_sends.push_back({peer, bucket.slice});
      }
      if (!theirs.empty()) {
        bucket.weight_receives.push_back({peer, theirs});
      }
    }
    buckets_.push_back(std::move(bucket));
  }
}

}  // namespace gangway::comm
