// SPDX-License-Identifier: MIT
// Turns reduced gradients into new weights for one network's slices: the optimiser on parameters,
// the running average on statistics, then the weight average over both. Lane thread, between
// `prepare` calls of the compute thread.
#pragma once

#include "comm/reducer.hpp"
#include "gan/optimizer.hpp"
#include "worker/network_state.hpp"

namespace gangway::worker {

class NetworkUpdater final : public comm::SliceUpdater {
 public:
  explicit NetworkUpdater(NetworkState& state) : state_(state) {}

  struct Plan {
    gan::OptimizerSettings settings;
    std::int64_t update = 1;     ///< number of this update, from 1 on
    int harvests = 0;            ///< statistics added a micro-batch; 0: the phase harvests none
    double average_decay = 0.0;  ///< beta of the weight average; used where the network keeps one
  };
  /// Sets what the next update does. Compute thread, before the update is submitted to the lane.
  void prepare(const Plan& plan) { plan_ = plan; }

  void update(comm::ElementRange range, std::span<const float> mean) override;

 private:
  void update_parameters(comm::ElementRange range, std::span<const float> mean);
  void update_statistics(comm::ElementRange range, std::span<const float> mean);
  void update_average(comm::ElementRange range);

  NetworkState& state_;
  Plan plan_;
};

}  // namespace gangway::worker
