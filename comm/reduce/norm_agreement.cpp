// SPDX-License-Identifier: MIT
#include "comm/reduce/norm_agreement.hpp"

#include <algorithm>
#include <utility>

#include "comm/arena/tree_sum.hpp"

namespace gangway::comm {

NormAgreement::NormAgreement(Members members, const ArenaLayout& layout, int network)
    : members_(std::move(members)),
      layout_(layout),
      network_(network),
      tree_(*members_.transport, members_.workers),
      squares_(layout.parameter_range().size() / kBlockElements) {
  std::size_t blocks = 0;
  for (const int worker : members_.workers) {
    begins_.push_back(blocks * sizeof(double));
    for (std::size_t bucket = 0; bucket < members_.plan->num_buckets(); ++bucket) {
      blocks += blocks_of(bucket, worker).size() / kBlockElements;
    }
  }
  begins_.push_back(blocks * sizeof(double));
  all_squares_.resize(blocks);
}

void NormAgreement::begin() { offered_ = is_gathered_ = known_ = false; }

ElementRange NormAgreement::blocks_of(std::size_t bucket, int worker) const {
  return intersect(members_.plan->slice(bucket, worker), layout_.parameter_range());
}

void NormAgreement::offer(const Arena& mean) {
  const int own = members_.transport->worker();
  const auto place = std::ranges::find(members_.workers, own) - members_.workers.begin();
  double* told = all_squares_.data() + begins_[static_cast<std::size_t>(place)] / sizeof(double);
  for (std::size_t bucket = 0; bucket < members_.plan->num_buckets(); ++bucket) {
    const ElementRange blocks = blocks_of(bucket, own);
    for (std::size_t k = 0; k < blocks.size(); k += kBlockElements) {
      *told++ = block_sum_of_squares(mean.data() + blocks.begin + k);
    }
  }
  tree_.gather(tag(), std::as_writable_bytes(std::span(all_squares_)), begins_);
  offered_ = true;
}

double NormAgreement::sum() {
  const double* told = all_squares_.data();
  for (const int worker : members_.workers) {
    for (std::size_t bucket = 0; bucket < members_.plan->num_buckets(); ++bucket) {
      // A slice of only statistics begins past the end of the squares.
      if (const ElementRange blocks = blocks_of(bucket, worker); !blocks.empty()) {
        const std::size_t count = blocks.size() / kBlockElements;
        std::copy_n(told, count, squares_.data() + blocks.begin / kBlockElements);
        told += count;
      }
    }
  }
  return pairwise_sum(squares_);
}

bool NormAgreement::advance() {
  if (!tree_.advance()) {
    return false;
  }
  if (!is_gathered_) {
    is_gathered_ = true;
    if (tree_.is_root()) {
      squared_norm_ = sum();
    }
    tree_.broadcast(tag(), std::as_writable_bytes(std::span(&squared_norm_, 1)));
    if (!tree_.advance()) {
      return false;
    }
  }
  known_ = true;
  return true;
}

MessageTag NormAgreement::tag() const {
  return {members_.transport->epoch(), network_, MessageKind::kScalars, 0, 0};
}

}  // namespace gangway::comm
