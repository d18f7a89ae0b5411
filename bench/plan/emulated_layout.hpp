// SPDX-License-Identifier: MIT
// The layout of an emulated training: the lists, network groups, arenas and buckets that its real
// workers would have. Equal for all workers; any thread.
#pragma once

#include <string>
#include <vector>

#include "comm/arena/arena_layout.hpp"
#include "comm/arena/bucket_plan.hpp"
#include "plan/node_costs.hpp"
#include "plan/plan_input.hpp"
#include "plan/staged_job.hpp"

namespace gangway::bench {

/// The part of a network that several workers exchange: the whole network or a chunk.
struct EmulatedPart {
  NetworkGroup group;  ///< the workers that exchange it, with their micro-batches
  std::vector<comm::ElementRange> ranges;
  comm::BucketPlan plan;               ///< slices of these workers
  std::vector<double> ready_shares{};  ///< by bucket: share of the last backward
  double update_seconds = 0.0;         ///< of one element
};

class EmulatedLayout {
 public:
  /// All arguments outlive this object.
  EmulatedLayout(const plan::PlanInput& input, const std::vector<pipeline::Phase>& phases,
                 const plan::Candidate& candidate);

  [[nodiscard]] const plan::PlanInput& input() const { return input_; }
  [[nodiscard]] const plan::StagedJob& staged() const { return staged_; }
  [[nodiscard]] const std::vector<plan::WorkerPlace>& places() const { return places_; }
  [[nodiscard]] std::vector<int> hosts() const;
  /// Returns the lists of the first `steps` steps. @param steps  number of steps
  [[nodiscard]] std::vector<plan::Lists> lists(int steps) const;
  [[nodiscard]] const plan::NodeCost& cost_of(const pipeline::Instruction& at) const;
  [[nodiscard]] const comm::ArenaLayout& arena(NetworkId network) const { return arenas_[network]; }
  /// Returns the parts of `network`, by chunk.
  [[nodiscard]] const std::vector<EmulatedPart>& parts(NetworkId network) const {
    return parts_[network];
  }
  /// Returns the part of `network` that `worker` holds; null: none.
  [[nodiscard]] const EmulatedPart* part_of(NetworkId network, int worker) const;

 private:
  [[nodiscard]] comm::ArenaLayout arena_of(NetworkId network) const;
  [[nodiscard]] std::vector<EmulatedPart> parts_of(NetworkId network) const;
  [[nodiscard]] std::vector<double> ready_shares(NetworkId network, BlockRange blocks,
                                                 const comm::BucketPlan& plan) const;

  const plan::PlanInput& input_;
  plan::StagedJob staged_;
  std::vector<plan::WorkerPlace> places_;
  plan::BlockCosts::Table table_;
  PerNetwork<comm::ArenaLayout> arenas_;
  PerNetwork<std::vector<EmulatedPart>> parts_;
};

}  // namespace gangway::bench
