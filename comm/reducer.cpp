// SPDX-License-Identifier: MIT
#include "comm/reducer.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "comm/tree_sum.hpp"
#include "job/errors.hpp"

namespace gangway::comm {
namespace {

/// @throws InvariantError unless plan and ranges are for this many workers and the ranges join to
/// all micro-batches.
void check_setup(const Reducer::Setup& setup, int num_workers) {
  if (setup.plan->num_workers() != num_workers ||
      setup.ranges.size() != static_cast<std::size_t>(num_workers)) {
    throw InvariantError(fmt::format(
        "network {}: a plan for {} workers and ranges of {} among {} workers; please report this",
        setup.network, setup.plan->num_workers(), setup.ranges.size(), num_workers));
  }
  std::vector<MicrobatchRange> ranges = setup.ranges;
  std::erase_if(ranges, [](MicrobatchRange range) { return range.size() == 0; });
  std::ranges::sort(ranges, {}, &MicrobatchRange::begin);
  int covered = 0;
  for (const MicrobatchRange& range : ranges) {
    if (range.begin != covered) {
      break;
    }
    covered = range.end;
  }
  if (covered != setup.num_microbatches || ranges.back().end != covered) {
    throw InvariantError(fmt::format(
        "network {}: the workers' ranges do not join to [0, {}): wrong at micro-batch {}; "
        "please report this",
        setup.network, setup.num_microbatches, covered));
  }
}

}  // namespace

Reducer::Reducer(Transport& transport, Setup setup)
    : transport_(transport),
      setup_(std::move(setup)),
      mean_(setup_.layout->size()),
      receives_(setup_.plan->num_buckets()) {
  check_setup(setup_, transport_.num_workers());
  for (int peer = 0; peer < transport_.num_workers(); ++peer) {
    if (peer == transport_.worker()) {
      continue;
    }
    for (const MicrobatchRange& subtree :
         whole_subtrees(setup_.ranges[static_cast<std::size_t>(peer)], setup_.num_microbatches)) {
      Incoming incoming{peer, subtree, {}};
      for (std::size_t bucket = 0; bucket < setup_.plan->num_buckets(); ++bucket) {
        incoming.slices.emplace_back(setup_.plan->slice(bucket, transport_.worker()).size());
      }
      incoming_.push_back(std::move(incoming));
    }
  }
}

MessageTag Reducer::tag(MessageKind kind, std::size_t bucket, std::size_t part) const {
  return {transport_.epoch(), setup_.network, kind, static_cast<int>(bucket),
          static_cast<int>(part)};
}

void Reducer::start(const std::vector<PartialStack::Partial>& partials) {
  const std::vector<MicrobatchRange> expected = whole_subtrees(
      setup_.ranges[static_cast<std::size_t>(transport_.worker())], setup_.num_microbatches);
  if (!std::ranges::equal(partials, expected, {}, &PartialStack::Partial::microbatches)) {
    throw InvariantError(fmt::format(
        "worker {}, network {}: {} partials that are not the {} of its range; please report this",
        transport_.worker(), setup_.network, partials.size(), expected.size()));
  }
  own_ = partials;
  summed_ = false;
  for (std::size_t bucket = 0; bucket < setup_.plan->num_buckets(); ++bucket) {
    start_bucket(bucket);
  }
}

void Reducer::start_bucket(std::size_t bucket) {
  int last_peer = -1;
  std::size_t part = 0;
  for (Incoming& incoming : incoming_) {
    part = incoming.peer == last_peer ? part + 1 : 0;
    last_peer = incoming.peer;
    std::vector<float>& slice = incoming.slices[bucket];
    if (!slice.empty()) {
      receives_[bucket].push_back(
          {transport_.start_receive(incoming.peer, tag(MessageKind::kPartial, bucket, part),
                                    std::as_writable_bytes(std::span(slice))),
           incoming.peer});
    }
  }
  for (int peer = 0; peer < transport_.num_workers(); ++peer) {
    const ElementRange slice = setup_.plan->slice(bucket, peer);
    if (peer == transport_.worker() || slice.empty()) {
      continue;
    }
    for (std::size_t p = 0; p < own_.size(); ++p) {
      const std::span<const float> values(own_[p].sum + slice.begin, slice.size());
      sends_.push_back({transport_.start_send(peer, tag(MessageKind::kPartial, bucket, p),
                                              std::as_bytes(values)),
                        peer});
    }
  }
}

void Reducer::sum_bucket(std::size_t bucket) {
  const Deadline deadline(setup_.timeout);
  wait_all(transport_, receives_[bucket], deadline,
           fmt::format("gradients of network {}, bucket {}", setup_.network, bucket));
  const ElementRange slice = setup_.plan->slice(bucket, transport_.worker());
  if (slice.empty()) {
    return;
  }
  std::vector<TreeSummand> summands;
  for (const PartialStack::Partial& partial : own_) {
    summands.push_back({partial.microbatches, partial.sum + slice.begin});
  }
  for (const Incoming& incoming : incoming_) {
    summands.push_back({incoming.microbatches, incoming.slices[bucket].data()});
  }
  std::ranges::sort(summands, {}, [](const TreeSummand& s) { return s.microbatches.begin; });
  tree_sum(summands, setup_.num_microbatches, 1.0F / static_cast<float>(setup_.num_microbatches),
           mean_.range(slice));
}

Agreement Reducer::agree() {
  const ArenaLayout& layout = *setup_.layout;
  std::vector<double> squares(layout.parameter_range().size() / kBlockElements, 0.0);
  std::vector<PendingRequest> pending;
  const auto blocks_of = [&](std::size_t bucket, int worker) {
    const ElementRange blocks =
        intersect(setup_.plan->slice(bucket, worker), layout.parameter_range());
    // A slice of statistics alone begins past the end of `squares`.
    return blocks.empty() ? std::span<double>()
                          : std::span(squares).subspan(blocks.begin / kBlockElements,
                                                       blocks.size() / kBlockElements);
  };
  for (std::size_t bucket = 0; bucket < setup_.plan->num_buckets(); ++bucket) {
    sum_bucket(bucket);
    const std::span<double> mine = blocks_of(bucket, transport_.worker());
    const float* const values =
        mean_.data() + setup_.plan->slice(bucket, transport_.worker()).begin;
    for (std::size_t i = 0; i < mine.size(); ++i) {
      mine[i] = block_sum_of_squares(values + i * kBlockElements);
    }
    for (int peer = 0; peer < transport_.num_workers(); ++peer) {
      if (peer == transport_.worker()) {
        continue;
      }
      const MessageTag scalars = tag(MessageKind::kScalars, bucket, 0);
      if (!mine.empty()) {
        pending.push_back({transport_.start_send(peer, scalars, std::as_bytes(mine)), peer});
      }
      if (const std::span<double> theirs = blocks_of(bucket, peer); !theirs.empty()) {
        pending.push_back(
            {transport_.start_receive(peer, scalars, std::as_writable_bytes(theirs)), peer});
      }
    }
  }
  wait_all(transport_, pending, Deadline(setup_.timeout),
           fmt::format("norm of network {}", setup_.network));
  summed_ = true;
  return {pairwise_sum(squares)};
}

void Reducer::update(float scale) {
  for (std::size_t bucket = 0; bucket < setup_.plan->num_buckets(); ++bucket) {
    if (!summed_) {
      sum_bucket(bucket);
    }
    share_bucket(bucket, scale);
  }
  const Deadline deadline(setup_.timeout);
  wait_all(transport_, weights_in_, deadline,
           fmt::format("new weights of network {}", setup_.network));
  wait_all(transport_, sends_, deadline, fmt::format("sends of network {}", setup_.network));
}

void Reducer::share_bucket(std::size_t bucket, float scale) {
  const ElementRange mine = setup_.plan->slice(bucket, transport_.worker());
  if (!mine.empty()) {
    const std::span<float> mean = mean_.range(mine);
    if (scale != 1.0F) {
      const ElementRange parameters = intersect(mine, setup_.layout->parameter_range());
      for (float& value : mean.first(parameters.size())) {
        value *= scale;
      }
    }
    setup_.updater->update(mine, mean);
  }
  for (int peer = 0; peer < transport_.num_workers(); ++peer) {
    if (peer == transport_.worker()) {
      continue;
    }
    const MessageTag weights = tag(MessageKind::kWeights, bucket, 0);
    if (!mine.empty()) {
      sends_.push_back(
          {transport_.start_send(peer, weights, std::as_bytes(setup_.weights->range(mine))), peer});
    }
    if (const ElementRange theirs = setup_.plan->slice(bucket, peer); !theirs.empty()) {
      weights_in_.push_back(
          {transport_.start_receive(peer, weights,
                                    std::as_writable_bytes(setup_.weights->range(theirs))),
           peer});
    }
  }
}

}  // namespace gangway::comm
