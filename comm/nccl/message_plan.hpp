// SPDX-License-Identifier: MIT
// Plans the messages of one network's exact direct reduction on GPUs, in NCCL's matching order:
// between two workers, the n-th send of a group meets the n-th receive. Pure; no GPU needed. Any
// thread.
//
// comm/reduce/reduction_routes.hpp defines the routes, as on CPUs. The GPUs of a host share no
// memory, so a bucket needs four rounds, each one NCCL group:
//
//   1. within hosts: partials to the host's owners, and to its delegates, which sum them
//   2. between hosts: each host sum, once, to the slice's owner, which adds all up and updates
//   3. new weights: from the owner to its host's workers and to its delegate on each other host
//   4. within hosts: new weights from the delegates to the other workers
//
// With one worker per host, rounds 1 and 4 are empty; with one host, rounds 2 and 4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/arena/bucket_plan.hpp"
#include "comm/arena/reduction_tree.hpp"
#include "comm/cuda/sum_program.hpp"
#include "comm/reduce/reduction_routes.hpp"

namespace gangway::comm {

class MessagePlan {
 public:
  /// One summand of a sum, in the order of the sum's program.
  struct Source {
    enum class From : std::uint8_t { kOwn, kHost, kOtherHost };
    From from = From::kOwn;
    std::size_t partial = 0;        ///< of kOwn: index among the own partials
    std::size_t buffer_offset = 0;  ///< of a received summand: elements from its buffer's start
  };
  struct PartialSend {
    int peer = 0;
    std::size_t partial = 0;  ///< index among the own partials
    ElementRange elements;    ///< of the arena
  };
  /// A send of one of the host's sums, which this worker computes first.
  struct SumSend {
    int peer = 0;
    std::size_t sum = 0;  ///< index among the host's sums
    ElementRange elements;
    /// Empty if the worker is alone on its host: the sums are its own partials.
    std::vector<Source> sources;
    std::size_t buffer_offset = 0;  ///< where the sum is written: elements into the buffer of sums
  };
  struct Receive {
    int peer = 0;
    std::size_t buffer_offset = 0;  ///< elements from the start of the receive buffer
    std::size_t elements = 0;
  };
  struct WeightMessage {
    int peer = 0;
    ElementRange elements;
  };
  struct Bucket {
    ElementRange slice;  ///< this worker's slice; may be empty
    std::vector<PartialSend> host_sends;
    std::vector<Receive> host_receives;
    std::vector<SumSend> sends;
    std::vector<Receive> receives;
    std::vector<Source> sources;  ///< of the own slice; empty if the slice is empty
    std::vector<WeightMessage> weight_sends;
    std::vector<WeightMessage> weight_receives;
    std::vector<WeightMessage> forward_sends;
    std::vector<WeightMessage> forward_receives;
  };

  /// @param ranges  micro-batches of every worker; a worker may have none
  /// @param hosts   by worker; equal values: one host; empty: a host each
  /// @throws InvariantError if the ranges do not join to [0, num_microbatches), plan or hosts have
  /// another number of workers, or there are more partials than kMaxSummands.
  MessagePlan(const BucketPlan& plan, const std::vector<MicrobatchRange>& ranges,
              int num_microbatches, int worker, std::vector<int> hosts = {});

  [[nodiscard]] const std::vector<Bucket>& buckets() const { return buckets_; }
  /// The program that sums each of this worker's slices.
  [[nodiscard]] const SumProgram& program() const { return program_; }
  /// This worker's partials, left to right.
  [[nodiscard]] const std::vector<MicrobatchRange>& own_partials() const { return own_; }
  /// The programs of the host's sums, left to right.
  [[nodiscard]] const std::vector<SumProgram>& host_programs() const { return host_programs_; }
  /// Elements of the buffer for data from this host. Data for this worker's slices has its own
  /// place; data to sum for other hosts shares the rest, one bucket at a time.
  [[nodiscard]] std::size_t host_receive_elements() const { return host_receive_elements_; }
  /// Elements of the buffer for sums from other hosts; each bucket's sums have their own place.
  [[nodiscard]] std::size_t receive_elements() const { return receive_elements_; }
  /// Elements of the buffer for this host's sums of one bucket.
  [[nodiscard]] std::size_t sum_elements() const { return sum_elements_; }

 private:
  std::vector<Bucket> buckets_;
  SumProgram program_;
  std::vector<SumProgram> host_programs_;
  std::vector<MicrobatchRange> own_;
  std::size_t host_receive_elements_ = 0;
  std::size_t receive_elements_ = 0;
  std::size_t sum_elements_ = 0;
};

}  // namespace gangway::comm
