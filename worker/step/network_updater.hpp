// SPDX-License-Identifier: MIT
// Turns reduced gradients into new weights for one network's slices: the optimiser on parameters,
// the running average on statistics, then the weight average over both. Lane thread, between
// `prepare` calls of the compute thread.
#pragma once

#include "comm/reduce/reducer.hpp"
#include "gan/optimizer.hpp"
#include "worker/state/network_state.hpp"
#include "worker/state/snapshot_taker.hpp"

namespace gangway::worker {

/// What one update of a network does.
struct UpdatePlan {
  gan::OptimizerSettings settings;
  std::int64_t update = 1;     ///< number of this update, from 1 on
  int harvests = 0;            ///< statistics added a micro-batch; 0: the phase harvests none
  double average_decay = 0.0;  ///< beta of the weight average; used where the network keeps one
  /// Steps done after it, where it is the network's last update in front of a snapshot; else -1.
  std::int64_t snapshot_step = -1;
};

/// The part of a network's state that an update works on; spans of range.size().
struct UpdateSlice {
  comm::ElementRange range;  ///< multiples of kBlockElements; may reach into the statistics
  std::span<const float> mean;
  std::span<float> weights;
  std::span<float> first_moment;
  std::span<float> second_moment;
  std::span<float> average;  ///< empty where the network keeps none
};

/// The arithmetic of an update, and nothing else: equal inputs give equal bits. Any thread.
void update_slice(const UpdatePlan& plan, const comm::ArenaLayout& layout,
                  const UpdateSlice& slice);

/// Sees what an updater is about to do, and what it did. Lane thread.
class UpdateWatcher {
 public:
  virtual ~UpdateWatcher() = default;
  virtual void before_update(comm::ElementRange range, std::span<const float> mean) = 0;
  virtual void after_update(comm::ElementRange range) = 0;
};

class NetworkUpdater final : public comm::SliceUpdater {
 public:
  /// @param network    index, for the snapshots
  /// @param snapshots  takes what is updated in front of one; null: nobody does
  explicit NetworkUpdater(NetworkState& state, std::size_t network = 0,
                          SnapshotTaker* snapshots = nullptr)
      : state_(state), network_(network), snapshots_(snapshots) {}

  /// Sets what the next update does. Compute thread, before the update is submitted to the lane.
  void prepare(const UpdatePlan& plan) { plan_ = plan; }
  /// From now on `watcher` sees all updates; it outlives them. @pre none is under way
  void show_to(UpdateWatcher& watcher) { watcher_ = &watcher; }

  void update(comm::ElementRange range, std::span<const float> mean) override;

 private:
  NetworkState& state_;
  std::size_t network_;
  SnapshotTaker* snapshots_;
  UpdatePlan plan_;
  UpdateWatcher* watcher_ = nullptr;
};

}  // namespace gangway::worker
