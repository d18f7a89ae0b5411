// SPDX-License-Identifier: MIT
#include "comm/reduce/norm_agreement.hpp"

#include <utility>

#include "comm/arena/tree_sum.hpp"

namespace gangway::comm {

NormAgreement::NormAgreement(Members members, const ArenaLayout& layout, int network)
    : members_(std::move(members)),
      layout_(layout),
      network_(network),
      squares_(layout.parameter_range().size() / kBlockElements) {
  pending_.reserve(2 * members_.plan->num_buckets() * members_.workers.size());
}

void NormAgreement::begin() { offered_ = known_ = false; }

std::span<double> NormAgreement::squares_of(std::size_t bucket, int worker) {
  const ElementRange blocks = intersect(members_.plan->slice(bucket, worker), layout_.parameter_range());
  // A slice of statistics alone begins past the end of the squares.
  return blocks.empty() ? std::span<double>()
                        : std::span(squares_).subspan(blocks.begin / kBlockElements,
                                                      blocks.size() / kBlockElements);
}

void NormAgreement::offer(const Arena& mean) {
  Transport& transport = *members_.transport;
  const BucketPlan& plan = *members_.plan;
  for (std::size_t bucket = 0; bucket < plan.num_buckets(); ++bucket) {
    const std::span<double> mine = squares_of(bucket, transport.worker());
    const float* const values = mean.data() + plan.slice(bucket, transport.worker()).begin;
    for (std::size_t k = 0; k < mine.size(); ++k) {
      mine[k] = block_sum_of_squares(values + k * kBlockElements);
    }
    const MessageTag tag{transport.epoch(), network_, MessageKind::kScalars,
                         static_cast<int>(bucket), 0};
    for (const int peer : members_.workers) {
      if (peer == transport.worker()) {
        continue;
      }
      if (!mine.empty()) {
        pending_.push_back({transport.start_send(peer, tag, std::as_bytes(mine)), peer});
      }
      if (const std::span<double> theirs = squares_of(bucket, peer); !theirs.empty()) {
        pending_.push_back(
            {transport.start_receive(peer, tag, std::as_writable_bytes(theirs)), peer});
      }
    }
  }
  offered_ = true;
}

bool NormAgreement::advance() {
  if (!poll_all(*members_.transport, pending_)) {
    return false;
  }
  squared_norm_ = pairwise_sum(squares_);
  known_ = true;
  return true;
}

}  // namespace gangway::comm
