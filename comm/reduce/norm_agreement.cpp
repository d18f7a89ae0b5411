// SPDX-License-Identifier: MIT
#include "comm/reduce/norm_agreement.hpp"

#include "comm/arena/tree_sum.hpp"

namespace gangway::comm {

NormAgreement::NormAgreement(Transport& transport, const ArenaLayout& layout,
                             const BucketPlan& plan, int network)
    : transport_(transport),
      layout_(layout),
      plan_(plan),
      network_(network),
      squares_(layout.parameter_range().size() / kBlockElements) {
  pending_.reserve(2 * plan.num_buckets() * static_cast<std::size_t>(transport.num_workers()));
}

void NormAgreement::begin() { offered_ = known_ = false; }

std::span<double> NormAgreement::squares_of(std::size_t bucket, int worker) {
  const ElementRange blocks = intersect(plan_.slice(bucket, worker), layout_.parameter_range());
  // A slice of statistics alone begins past the end of the squares.
  return blocks.empty() ? std::span<double>()
                        : std::span(squares_).subspan(blocks.begin / kBlockElements,
                                                      blocks.size() / kBlockElements);
}

void NormAgreement::offer(const Arena& mean) {
  for (std::size_t bucket = 0; bucket < plan_.num_buckets(); ++bucket) {
    const std::span<double> mine = squares_of(bucket, transport_.worker());
    const float* const values = mean.data() + plan_.slice(bucket, transport_.worker()).begin;
    for (std::size_t k = 0; k < mine.size(); ++k) {
      mine[k] = block_sum_of_squares(values + k * kBlockElements);
    }
    const MessageTag tag{transport_.epoch(), network_, MessageKind::kScalars,
                         static_cast<int>(bucket), 0};
    for (int peer = 0; peer < transport_.num_workers(); ++peer) {
      if (peer == transport_.worker()) {
        continue;
      }
      if (!mine.empty()) {
        pending_.push_back({transport_.start_send(peer, tag, std::as_bytes(mine)), peer});
      }
      if (const std::span<double> theirs = squares_of(bucket, peer); !theirs.empty()) {
        pending_.push_back(
            {transport_.start_receive(peer, tag, std::as_writable_bytes(theirs)), peer});
      }
    }
  }
  offered_ = true;
}

bool NormAgreement::advance() {
  if (!poll_all(transport_, pending_)) {
    return false;
  }
  squared_norm_ = pairwise_sum(squares_);
  known_ = true;
  return true;
}

}  // namespace gangway::comm
