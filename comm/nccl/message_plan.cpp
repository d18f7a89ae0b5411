// SPDX-License-Identifier: MIT
#include "comm/nccl/message_plan.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "comm/cuda/compile_sum.hpp"

namespace gangway::comm {
namespace {

using Bucket = MessagePlan::Bucket;
using Source = MessagePlan::Source;

/// A partial of a worker of this host, or a sum of another host.
struct Summand {
  MicrobatchRange microbatches;
  int peer = 0;  ///< owner of the partial, or sender of the sum
  Source::From from = Source::From::kOwn;
  std::size_t partial = 0;  ///< index among the peer's partials or sums
};

std::vector<MicrobatchRange> microbatches_of(const std::vector<Summand>& summands) {
  std::vector<MicrobatchRange> subtrees;
  std::ranges::transform(summands, std::back_inserter(subtrees), &Summand::microbatches);
  return subtrees;
}

/// Writes one worker's sends and receives, bucket by bucket.
class Writer {
 public:
  Writer(const BucketPlan& plan, const std::vector<MicrobatchRange>& ranges, int num_microbatches,
         int worker, const std::vector<int>& hosts)
      : plan_(plan), worker_(worker), own_(routes_of(worker, hosts, ranges, num_microbatches)) {
    for (const int member : own_.host_members) {
      const auto at = static_cast<std::size_t>(member);
      const auto from = member == worker ? Source::From::kOwn : Source::From::kHost;
      std::size_t partial = 0;
      for (const MicrobatchRange& subtree : whole_subtrees(ranges[at], num_microbatches)) {
        partials_.push_back({subtree, member, from, partial++});
      }
      num_own_ = member == worker ? partial : num_own_;
      auto served = member == worker ? own_.served
                                     : routes_of(member, hosts, ranges, num_microbatches).served;
      served_by_.emplace_back(member, std::move(served));
    }
    std::ranges::sort(partials_, {}, begin_of);
    summands_ = partials_;
    for (const ReductionRoutes::Incoming& sum : own_.incoming) {
      summands_.push_back({sum.microbatches, sum.peer, Source::From::kOtherHost, sum.part});
    }
    std::ranges::sort(summands_, {}, begin_of);
    std::size_t own_elements = 0;
    for (std::size_t bucket = 0; bucket < plan.num_buckets(); ++bucket) {
      own_elements += plan.slice(bucket, worker).size();
    }
    shared_begin_ = own_elements * (partials_.size() - num_own_);
    host_received_ = shared_begin_;
  }

  [[nodiscard]] const std::vector<Summand>& summands() const { return summands_; }
  [[nodiscard]] std::vector<SumProgram> host_programs() const {
    std::vector<SumProgram> programs;
    for (const MicrobatchRange& subtree : own_.host_subtrees) {
      programs.push_back(tree_sum_program(microbatches_of(partials_within(subtree)), subtree));
    }
    return programs;
  }
  [[nodiscard]] std::size_t host_received() const { return host_received_; }
  [[nodiscard]] std::size_t received() const { return received_; }
  [[nodiscard]] std::size_t summed() const { return summed_; }

  [[nodiscard]] Bucket write(std::size_t index) {
    Bucket bucket{.slice = plan_.slice(index, worker_)};
    add_own_slice(bucket);
    add_host_sums(index, bucket);
    // A worker's subtrees ascend, so its partials arrive in ascending order.
    std::ranges::stable_sort(bucket.host_receives, {}, &MessagePlan::Receive::peer);
    std::ranges::stable_sort(bucket.receives, {}, &MessagePlan::Receive::peer);
    add_host_sends(index, bucket);
    add_weights(index, bucket);
    return bucket;
  }

 private:
  static int begin_of(const Summand& summand) { return summand.microbatches.begin; }

  [[nodiscard]] std::vector<Summand> partials_within(MicrobatchRange subtree) const {
    std::vector<Summand> found;
    std::ranges::copy_if(partials_, std::back_inserter(found), [subtree](const Summand& partial) {
      return subtree.contains(partial.microbatches);
    });
    return found;
  }

  void add_own_slice(Bucket& bucket) {
    const std::size_t elements = bucket.slice.size();
    for (const Summand& summand : summands_) {
      if (elements == 0) {
        return;
      }
      if (summand.from == Source::From::kOwn) {
        bucket.sources.push_back({.from = summand.from, .partial = summand.partial});
        continue;
      }
      const bool is_near = summand.from == Source::From::kHost;
      std::size_t& end = is_near ? own_received_ : received_;
      bucket.sources.push_back({.from = summand.from, .buffer_offset = end});
      (is_near ? bucket.host_receives : bucket.receives).push_back({summand.peer, end, elements});
      end += elements;
    }
  }

  void add_host_sums(std::size_t index, Bucket& bucket) {
    std::size_t from = shared_begin_;
    std::size_t to = 0;
    for (const int owner : own_.served) {
      const ElementRange theirs = plan_.slice(index, owner);
      for (std::size_t sum = 0; sum < own_.host_subtrees.size() && !theirs.empty(); ++sum) {
        MessagePlan::SumSend send{.peer = owner, .sum = sum, .elements = theirs};
        if (own_.host_members.size() > 1) {
          for (const Summand& partial : partials_within(own_.host_subtrees[sum])) {
            send.sources.push_back(
                {.from = partial.from, .partial = partial.partial, .buffer_offset = from});
            if (partial.from == Source::From::kHost) {
              bucket.host_receives.push_back({partial.peer, from, theirs.size()});
              from += theirs.size();
            }
          }
          send.buffer_offset = to;
          to += theirs.size();
        }
        bucket.sends.push_back(std::move(send));
      }
    }
    host_received_ = std::max(host_received_, from);
    summed_ = std::max(summed_, to);
  }

  void add_host_sends(std::size_t index, Bucket& bucket) const {
    for (const auto& [peer, served] : served_by_) {
      if (peer == worker_) {
        continue;
      }
      std::vector<int> owners = served;  // in the peer's receive order: its own slice first
      owners.insert(owners.begin(), peer);
      for (const int owner : owners) {
        const ElementRange theirs = plan_.slice(index, owner);
        for (std::size_t partial = 0; partial < num_own_ && !theirs.empty(); ++partial) {
          bucket.host_sends.push_back({peer, partial, theirs});
        }
      }
    }
  }

  void add_weights(std::size_t index, Bucket& bucket) const {
    const auto add = [](std::vector<MessagePlan::WeightMessage>& to, int peer, ElementRange what) {
      if (!what.empty()) {
        to.push_back({peer, what});
      }
    };
    for (const auto& [peer, served] : served_by_) {
      if (peer == worker_) {
        continue;
      }
      add(bucket.weight_sends, peer, bucket.slice);
      add(bucket.weight_receives, peer, plan_.slice(index, peer));
      for (const int owner : own_.served) {
        add(bucket.forward_sends, peer, plan_.slice(index, owner));
      }
      for (const int owner : served) {
        add(bucket.forward_receives, peer, plan_.slice(index, owner));
      }
    }
    for (const int delegate : own_.delegates) {
      add(bucket.weight_sends, delegate, bucket.slice);
    }
    for (const int owner : own_.served) {
      add(bucket.weight_receives, owner, plan_.slice(index, owner));
    }
  }

  const BucketPlan& plan_;
  int worker_;
  ReductionRoutes own_;
  std::size_t num_own_ = 0;                                  // partials
  std::vector<Summand> partials_;                            // of the host's workers
  std::vector<Summand> summands_;                            // of this worker's slices
  std::vector<std::pair<int, std::vector<int>>> served_by_;  // by worker of the host
  std::size_t own_received_ = 0;
  std::size_t shared_begin_ = 0;
  std::size_t host_received_ = 0;
  std::size_t received_ = 0;
  std::size_t summed_ = 0;
};

}  // namespace

MessagePlan::MessagePlan(const BucketPlan& plan, const std::vector<MicrobatchRange>& ranges,
                         int num_microbatches, int worker, std::vector<int> hosts) {
  if (hosts.empty()) {
    hosts = each_its_own(plan.num_workers());
  }
  if (static_cast<std::size_t>(plan.num_workers()) != ranges.size() ||
      hosts.size() != ranges.size() || worker < 0 || worker >= plan.num_workers()) {
    throw InvariantError(fmt::format(
        "member {}: a plan for {} members, ranges of {} and hosts of {}; please report this",
        worker, plan.num_workers(), ranges.size(), hosts.size()));
  }
  Writer writer(plan, ranges, num_microbatches, worker, hosts);
  program_ = tree_sum_program(microbatches_of(writer.summands()), {0, num_microbatches});
  host_programs_ = writer.host_programs();
  own_ = whole_subtrees(ranges[static_cast<std::size_t>(worker)], num_microbatches);
  for (std::size_t index = 0; index < plan.num_buckets(); ++index) {
    buckets_.push_back(writer.write(index));
  }
  host_receive_elements_ = writer.host_received();
  receive_elements_ = writer.received();
  sum_elements_ = writer.summed();
}

}  // namespace gangway::comm
