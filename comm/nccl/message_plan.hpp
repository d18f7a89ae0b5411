// SPDX-License-Identifier: MIT
// Which elements travel between which workers in the exact direct reduction of one network, in the
// order in which NCCL matches them: between two workers, the n-th send of a group meets the n-th
// receive. Pure; no GPU needed. Any thread.
//
// Who deals with whom is comm/reduce/reduction_routes.hpp's to say, as on CPUs. But devices of a
// host share no memory, so a bucket goes in four rounds, a group each:
//
//   1. within hosts: partials to the owners of the host, and to its delegates, who add them up
//   2. between hosts: the host's sums, once, to the owner of the slice, who adds all up and updates
//   3. new weights: from the owner to the workers of its host and to its delegate on each other one
//   4. within hosts: from the delegates to the others
//
// Where each worker is its own host, rounds 1 and 4 are empty; on one host, 2 and 4.
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
  /// One summand of a sum, in the order of its program.
  struct Source {
    enum class From : std::uint8_t { kOwn, kHost, kOtherHost };
    From from = From::kOwn;
    std::size_t partial = 0;        ///< of an own one: index among the own partials
    std::size_t buffer_offset = 0;  ///< of a received one: elements from the start of its buffer
  };
  struct PartialSend {
    int peer = 0;
    std::size_t partial = 0;  ///< index among the own partials
    ElementRange elements;    ///< of the arena
  };
  /// Of one of the host's sums, which this worker adds up first.
  struct SumSend {
    int peer = 0;
    std::size_t sum = 0;  ///< index among the host's
    ElementRange elements;
    /// None where the worker is alone on its host: the sums are its own partials.
    std::vector<Source> sources;
    std::size_t buffer_offset = 0;  ///< where the sum is made; elements of the buffer of sums
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
    ElementRange slice;  ///< the own one; may be empty
    std::vector<PartialSend> host_sends;
    std::vector<Receive> host_receives;
    std::vector<SumSend> sends;
    std::vector<Receive> receives;
    std::vector<Source> sources;  ///< of the own slice; none where it is empty
    std::vector<WeightMessage> weight_sends;
    std::vector<WeightMessage> weight_receives;
    std::vector<WeightMessage> forward_sends;
    std::vector<WeightMessage> forward_receives;
  };

  /// @param ranges  micro-batches of every worker; a worker may have none
  /// @param hosts   by worker: equal on one host; empty: each its own
  /// @throws InvariantError if the ranges do not join to [0, num_microbatches), plan or hosts are
  /// for another number of workers, or there are more partials than kMaxSummands.
  MessagePlan(const BucketPlan& plan, const std::vector<MicrobatchRange>& ranges,
              int num_microbatches, int worker, std::vector<int> hosts = {});

  [[nodiscard]] const std::vector<Bucket>& buckets() const { return buckets_; }
  /// The order of additions of the own slices, the same for each.
  [[nodiscard]] const SumProgram& program() const { return program_; }
  /// The own partials, left to right.
  [[nodiscard]] const std::vector<MicrobatchRange>& own_partials() const { return own_; }
  /// The order of additions of each of the host's sums, left to right.
  [[nodiscard]] const std::vector<SumProgram>& host_programs() const { return host_programs_; }
  /// Elements of the buffer for what comes from the own host. What belongs to own slices has a
  /// place of its own there; what is added up for other hosts shares the rest, a bucket at a time.
  [[nodiscard]] std::size_t host_receive_elements() const { return host_receive_elements_; }
  /// Of the buffer for what comes from other hosts: the sums of all buckets have their own places.
  [[nodiscard]] std::size_t receive_elements() const { return receive_elements_; }
  /// Of the buffer for the sums of the own host; of one bucket.
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

/// Bytes of gradients and weights that a worker sends in one reduction.
struct SentBytes {
  std::uint64_t within_host = 0;
  std::uint64_t between_hosts = 0;
};

/// With N elements of the network, n in the worker's own slices, s in those that it serves, k own
/// partials, K sums of its host, m workers there, H hosts, and w bytes an element on the wire:
/// within its host 4 k (N - n - s) + 4 (m - 1) (n + s), between hosts w K s + 4 (H - 1) n. In fp32
/// the latter, of all workers of a host, are comm::bytes_between_hosts().
[[nodiscard]] SentBytes sent_bytes(const BucketPlan& plan,
                                   const std::vector<MicrobatchRange>& ranges, int num_microbatches,
                                   int worker, const std::vector<int>& hosts,
                                   WireFormat wire = WireFormat::kFp32);

}  // namespace gangway::comm
