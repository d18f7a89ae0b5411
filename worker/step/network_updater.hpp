// SPDX-License-Identifier: MIT
// Updates one network's slices from reduced gradients: the optimiser on parameters, the running
// average on statistics, then the weight average on both. Lane thread, between `prepare` calls of
// the compute thread.
#pragma once

#include <vector>

#include "comm/reduce/reducer.hpp"
#include "worker/state/network_state.hpp"
#include "worker/state/update_watcher.hpp"

namespace gangway::worker {

/// Computes an update and nothing else: equal inputs give equal bits. Any thread.
void update_slice(const UpdatePlan& plan, const comm::ArenaLayout& layout,
                  const UpdateSlice& slice);

class NetworkUpdater final : public comm::SliceUpdater {
 public:
  explicit NetworkUpdater(NetworkState& state) : state_(state) {}

  /// Sets the plan of the next update. Compute thread, before the update is submitted to the lane.
  void prepare(const UpdatePlan& plan) { plan_ = plan; }
  /// Adds `watcher`, which sees all updates and outlives them. @pre none is under way
  void show_to(UpdateWatcher& watcher) { watchers_.push_back(&watcher); }

  void update(comm::ElementRange range, std::span<const float> mean) override {
    carry_out(range, mean, /*was_skipped=*/false);
  }
  /// Leaves the slice unchanged, batch statistics too; tells watchers that it was skipped.
  void skip(comm::ElementRange range, std::span<const float> mean) override {
    carry_out(range, mean, /*was_skipped=*/true);
  }

 private:
  /// Updates the slice unless it is skipped, and shows watchers the slice before and after.
  void carry_out(comm::ElementRange range, std::span<const float> mean, bool was_skipped);

  NetworkState& state_;
  UpdatePlan plan_;
  std::vector<UpdateWatcher*> watchers_;
};

}  // namespace gangway::worker
