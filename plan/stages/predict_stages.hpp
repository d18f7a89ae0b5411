// SPDX-License-Identifier: MIT
// Predictions for layouts in which workers do not have all networks, or not whole ones: the very
// lists that their workers run, simulated. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "plan/node_costs.hpp"
#include "plan/predict.hpp"

namespace gangway::plan {

/// What is looked up for many layouts of one job. Borrows what it is made of.
class StagePlanner {
 public:
  explicit StagePlanner(const PlanInput& input);

  struct Candidates {
    std::vector<Candidate> layouts;
    std::size_t left_out = 0;  ///< too large to be simulated in no time
  };
  /// Those of `workers` workers that could be worth it, and that workers would not refuse: each
  /// network on workers of its own, by what they compute, and rows of stages, of all networks or
  /// of one, in a loop and in a V, cut where the busiest stage has least to do.
  [[nodiscard]] Candidates candidates(int workers) const;
  /// The same rows with the other orders of forwards and backwards.
  [[nodiscard]] static std::vector<Candidate> with_other_schedules(const Candidate& candidate);
  /// With no more micro-batches under way than twice the number of stages, half of that and so on
  /// down to one. They hold less, and take longer.
  [[nodiscard]] static std::vector<Candidate> with_less_in_flight(const Candidate& candidate);
  /// Cut where the fullest stage holds least; the same layout where that is where it is cut.
  [[nodiscard]] Candidate with_least_memory(Candidate candidate) const;

  /// @pre any shape; of kWhole one worker, or a few: all of them are simulated
  [[nodiscard]] Prediction predict(const Candidate& candidate) const;
  /// What no schedule goes below: what the busiest worker computes.
  [[nodiscard]] double least_seconds(const Candidate& candidate) const;

 private:
  /// Without a placement of networks.
  [[nodiscard]] Candidate unplaced(int workers) const;
  /// Nothing where there are too few networks, or workers, or micro-batches.
  [[nodiscard]] std::optional<Candidate> apart_candidate(int workers) const;
  /// @param are_alone  CutQuestion
  [[nodiscard]] Candidate cut_candidate(int workers, int stages,
                                        const std::vector<NetworkId>& networks,
                                        StagePlacement placement, bool are_alone) const;
  [[nodiscard]] double seconds_of(NetworkId network) const;
  [[nodiscard]] double fastest() const;

  PlanInput input_;
  const BlockCosts& costs_;
  /// Of a step's compute beside what waits for a backward: gradients on their way, workspaces.
  std::int64_t transient_bytes_ = 0;
};

}  // namespace gangway::plan
