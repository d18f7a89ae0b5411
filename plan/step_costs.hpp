// SPDX-License-Identifier: MIT
// What a step of a job costs a worker that holds all networks, and how often things are in one.
// Pure.
#pragma once

#include <vector>

#include "plan/node_costs.hpp"
#include "plan/simulation.hpp"

namespace gangway::plan {

/// Costs of a job, ready to be looked up many times.
class StepCosts {
 public:
  StepCosts(const Profile& profile, const std::vector<pipeline::Phase>& phases, const JobSpec& job);
  StepCosts(const StepCosts&) = delete;
  StepCosts& operator=(const StepCosts&) = delete;

  [[nodiscard]] const std::vector<pipeline::Phase>& phases() const { return phases_; }
  [[nodiscard]] const BlockCosts& blocks() const { return blocks_; }
  /// Of whole networks.
  [[nodiscard]] const BlockCosts::Table& whole() const { return whole_; }
  /// Seconds of one micro-batch through all phases of a step, lazy ones by their share.
  [[nodiscard]] double microbatch_seconds() const { return microbatch_seconds_; }
  /// The same on another device than the profiled one.
  [[nodiscard]] double microbatch_seconds_on(const SimulatedDevice& device) const;
  /// Whether an update waits for a norm.
  [[nodiscard]] bool agrees() const;
  /// How often `network` is updated in a step, lazy phases by their share.
  [[nodiscard]] double updates_in_step(NetworkId network) const;

 private:
  [[nodiscard]] const NodeCost& node_of(const pipeline::Instruction& at) const;

  std::vector<pipeline::Phase> phases_;
  BlockCosts blocks_;
  BlockCosts::Table whole_;
  struct Work {
    double seconds = 0.0;
    double kernels = 0.0;
    int interval = 1;  ///< steps
  };
  std::vector<Work> work_;  ///< of one micro-batch, by instruction
  double microbatch_seconds_ = 0.0;
};

}  // namespace gangway::plan
