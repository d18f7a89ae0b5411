// SPDX-License-Identifier: MIT
// Which elements travel between which workers in the exact direct reduction of one network, in the
// order in which NCCL matches them: between two workers, the n-th send of a group meets the n-th
// receive. Pure; no GPU needed. Any thread.
#pragma once

#include <cstddef>
#include <vector>

#include "comm/arena/bucket_plan.hpp"
#include "comm/arena/reduction_tree.hpp"
#include "comm/cuda/sum_program.hpp"

namespace gangway::comm {

class MessagePlan {
 public:
  struct PartialSend {
    int peer = 0;
    std::size_t partial = 0;  ///< index among the own partials
    ElementRange elements;    ///< of the arena
  };
  struct PartialReceive {
    int peer = 0;
    std::size_t partial = 0;        ///< index among the peer's partials
    std::size_t buffer_offset = 0;  ///< elements from the start of the receive buffer
    std::size_t elements = 0;
  };
  struct WeightMessage {
    int peer = 0;
    ElementRange elements;
  };
  /// One summand of the own slice, in the order of `program`.
  struct Source {
    bool is_own = false;
    std::size_t partial = 0;        ///< of an own one: index among the own partials
    std::size_t buffer_offset = 0;  ///< of a received one
  };
  struct Bucket {
    ElementRange slice;  ///< the own one; may be empty
    std::vector<PartialSend> sends;
    std::vector<PartialReceive> receives;
    std::vector<Source> sources;  ///< empty where the slice is
    std::vector<WeightMessage> weight_sends;
    std::vector<WeightMessage> weight_receives;
  };

  /// @param ranges  micro-batches of every worker; a worker may have none
  /// @throws InvariantError if the ranges do not join to [0, num_microbatches), the plan is for
  /// another number of workers, or there are more partials than kMaxSummands.
  MessagePlan(const BucketPlan& plan, const std::vector<MicrobatchRange>& ranges,
              int num_microbatches, int worker);

  [[nodiscard]] const std::vector<Bucket>& buckets() const { return buckets_; }
  /// The order of additions, the same for every slice.
  [[nodiscard]] const SumProgram& program() const { return program_; }
  /// The own partials, left to right.
  [[nodiscard]] const std::vector<MicrobatchRange>& own_partials() const { return own_; }
  /// Elements of the receive buffer: partials of all buckets have their own places in it.
  [[nodiscard]] std::size_t receive_elements() const { return receive_elements_; }

 private:
  std::vector<Bucket> buckets_;
  SumProgram program_;
  std::vector<MicrobatchRange> own_;
  std::size_t receive_elements_ = 0;
};

}  // namespace gangway::comm
