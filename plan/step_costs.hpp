// SPDX-License-Identifier: MIT
// Looks up what a step costs a worker that holds all networks, and how often a step updates each
// network. Pure.
#pragma once

#include <vector>

#include "plan/node_costs.hpp"
#include "plan/simulation.hpp"

namespace gangway::plan {

/// Computes the step costs of a job once, for many predictions.
class StepCosts {
 public:
  StepCosts(const Profile& profile, const std::vector<pipeline::Phase>& phases, const JobSpec& job);
  StepCosts(const StepCosts&) = delete;
  StepCosts& operator=(const StepCosts&) = delete;

  [[nodiscard]] const std::vector<pipeline::Phase>& phases() const { return phases_; }
  [[nodiscard]] const BlockCosts& blocks() const { return blocks_; }
  /// Returns the node costs of uncut networks.
  [[nodiscard]] const BlockCosts::Table& whole() const { return whole_; }
  /// Returns the seconds of a micro-batch through all phases. A lazy phase counts 1/interval.
  [[nodiscard]] double microbatch_seconds() const { return microbatch_seconds_; }
  /// Returns the same on `device` instead of the profiled device.
  [[nodiscard]] double microbatch_seconds_on(const SimulatedDevice& device) const;
  /// Whether an update waits for a norm of all workers' gradients.
  [[nodiscard]] bool agrees() const;
  /// Returns the updates of `network` in a step. A lazy phase counts 1/interval.
  [[nodiscard]] double updates_in_step(NetworkId network) const;

 private:
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
