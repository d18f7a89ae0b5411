// SPDX-License-Identifier: MIT
// Turns reduced gradients into new weights for one network's slices: the optimiser on parameters,
// the running average on statistics, then the weight average over both. Lane thread, between
// `prepare` calls of the compute thread.
#pragma once

#include <vector>

#include "comm/reduce/reducer.hpp"
#include "worker/state/network_state.hpp"
#include "worker/state/update_watcher.hpp"

namespace gangway::worker {

/// The arithmetic of an update, and nothing else: equal inputs give equal bits. Any thread.
void update_slice(const UpdatePlan& plan, const comm::ArenaLayout& layout,
                  const UpdateSlice& slice);

class NetworkUpdater final : public comm::SliceUpdater {
 public:
  explicit NetworkUpdater(NetworkState& state) : state_(state) {}

  /// Sets what the next update does. Compute thread, before the update is submitted to the lane.
  void prepare(const UpdatePlan& plan) { plan_ = plan; }
  /// From now on `watcher` sees all updates; it outlives them. @pre none is under way
  void show_to(UpdateWatcher& watcher) { watchers_.push_back(&watcher); }

  void update(comm::ElementRange range, std::span<const float> mean) override;
  /// Leaves the slice as it is, batch statistics too; who watches sees that.
  void skip(comm::ElementRange range, std::span<const float> mean) override;

 private:
  [[nodiscard]] UpdateSlice slice_of(comm::ElementRange range, std::span<const float> mean);
  void show_before(const UpdateSlice& slice);
  /// To the watchers, with what became of the plan.
  void show_after(const UpdateSlice& slice, bool was_skipped);

  NetworkState& state_;
  UpdatePlan plan_;
  std::vector<UpdateWatcher*> watchers_;
};

}  // namespace gangway::worker
