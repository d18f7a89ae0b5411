// SPDX-License-Identifier: MIT
// The part of NcclReducer that computes the mean gradient's norm on all workers before any update.
#include "comm/cuda/slice_kernels.hpp"
#include "comm/nccl/check_nccl.hpp"
#include "comm/nccl/nccl_reducer.hpp"

namespace gangway::comm {

ElementRange NcclReducer::blocks_of(ElementRange elements) const {
  const ElementRange parameters = intersect(elements, setup_.layout->parameter_range());
  return parameters.empty()
             ? ElementRange{}
             : ElementRange{parameters.begin / kBlockElements, parameters.end / kBlockElements};
}

void NcclReducer::decide_clip() {
  auto* const squares = static_cast<double*>(squares_.get());
  for (std::size_t bucket = 0; bucket < events_.size(); ++bucket) {
    launch_sum(sums_[bucket], session_.stream());
    const ElementRange blocks = blocks_of(updated(bucket));
    launch_block_squares(sums_[bucket].out, static_cast<std::int64_t>(blocks.size()),
                         squares + blocks.begin, session_.stream());
  }
  share_squares();
  const ElementRange all = blocks_of(setup_.layout->parameter_range());
  launch_clip_decision({.squares = squares,
                        .num_blocks = static_cast<std::int64_t>(all.size()),
                        .clip_norm = setup_.clip_norm,
                        .constants = &scalars()->constants,
                        .squared_norm = &scalars()->squared_norm,
                        .clip_scale = &scalars()->clip_scale,
                        .is_skipped = setup_.skips ? &scalars()->is_skipped : nullptr},
                       squares + setup_.layout->num_blocks(), session_.stream());
}

void NcclReducer::share_squares() {
  const auto enqueue = [this](ncclComm_t communicator) { enqueue_squares(communicator); };
  NcclSession* const whole = setup_.whole.session;
  if (whole == nullptr) {
    if (session_.num_workers() > 1) {
      session_.group(setup_.network, enqueue);
    }
    return;
  }
  check(cudaEventRecord(squares_made_.get(), session_.stream()), setup_.network);
  check(cudaStreamWaitEvent(whole->stream(), squares_made_.get(), 0), setup_.network);
  whole->group(setup_.network, enqueue);
  check(cudaEventRecord(squares_shared_.get(), whole->stream()), setup_.network);
  check(cudaStreamWaitEvent(session_.stream(), squares_shared_.get(), 0), setup_.network);
  whole->watch(whole->stream(), setup_.network);
}

void NcclReducer::enqueue_squares(ncclComm_t communicator) {
  const NcclReducerSetup::Whole& whole = setup_.whole;
  NcclSession& session = whole.session != nullptr ? *whole.session : session_;
  const BucketPlan& plan = whole.session != nullptr ? *whole.plan : *setup_.plan;
  const auto blocks = [&](std::size_t bucket, int place) {
    return blocks_of(plan.slice(
        bucket, whole.session == nullptr ? place : whole.workers[static_cast<std::size_t>(place)]));
  };
  auto* const squares = static_cast<double*>(squares_.get());
  for (std::size_t bucket = 0; bucket < plan.num_buckets(); ++bucket) {
    const ElementRange own = blocks(bucket, session.worker());
    for (int peer = 0; peer < session.num_workers(); ++peer) {
      if (peer == session.worker()) {
        continue;
      }
      const ElementRange theirs = blocks(bucket, peer);
      if (!theirs.empty()) {
        check(ncclRecv(squares + theirs.begin, theirs.size(), ncclFloat64, peer, communicator,
                       session.stream()),
              "receiving squares");
      }
      if (!own.empty()) {
        check(ncclSend(squares + own.begin, own.size(), ncclFloat64, peer, communicator,
                       session.stream()),
              "sending squares");
        session.count_sent(own.size() * sizeof(double));
      }
    }
  }
}

}  // namespace gangway::comm
