// SPDX-License-Identifier: MIT
// Predicts layouts in which workers hold only some networks, or chunks of them. Simulates the lists
// that the workers would run. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "plan/node_costs.hpp"
#include "plan/predict.hpp"

namespace gangway::plan {

/// Proposes and predicts the stage layouts of one job. Borrows its inputs.
class StagePlanner {
 public:
  explicit StagePlanner(const PlanInput& input);

  struct Candidates {
    std::vector<Candidate> layouts;
    std::size_t left_out = 0;  ///< too large to simulate quickly
  };
  /// Returns the layouts of `workers` workers that could be fast and that workers accept. Each
  /// network has its own workers, by its compute; or rows of stages cut all networks or one, in a
  /// loop or a V, so that the busiest stage has least to do.
  [[nodiscard]] Candidates candidates(int workers) const;
  /// Returns the same rows with the other orders of forwards and backwards.
  [[nodiscard]] static std::vector<Candidate> with_other_schedules(const Candidate& candidate);
  /// Returns variants with fewer micro-batches in flight: twice the number of stages, then half of
  /// that, and so on to one. They hold less memory and take longer.
  [[nodiscard]] static std::vector<Candidate> with_less_in_flight(const Candidate& candidate);
  /// Returns the layout with cuts at which the fullest stage holds least; may be the same cuts.
  [[nodiscard]] Candidate with_least_memory(Candidate candidate) const;

  /// Simulates every worker of a kWhole layout. @pre any shape; kWhole only with a few workers
  [[nodiscard]] Prediction predict(const Candidate& candidate) const;
  /// Returns a lower bound of step seconds: the compute of the busiest worker.
  [[nodiscard]] double least_seconds(const Candidate& candidate) const;

 private:
  /// Returns a candidate that places no networks.
  [[nodiscard]] Candidate unplaced(int workers) const;
  /// Returns nullopt if there are too few networks, workers or micro-batches.
  [[nodiscard]] std::optional<Candidate> apart_candidate(int workers) const;
  /// @param is_per_network  as in CutQuestion
  [[nodiscard]] Candidate cut_candidate(int workers, int stages,
                                        const std::vector<NetworkId>& networks,
                                        StagePlacement placement, bool is_per_network) const;
  [[nodiscard]] double seconds_of(NetworkId network) const;

  PlanInput input_;
  const BlockCosts& costs_;
  /// Bytes of a step's compute that wait for no backward: gradients in flight, workspaces.
  std::int64_t transient_bytes_ = 0;
};

}  // namespace gangway::plan
