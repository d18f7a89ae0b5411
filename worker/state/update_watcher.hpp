// SPDX-License-Identifier: MIT
// What one update does to a network's state, and who sees it done: whoever copies the state behind
// it, or checks it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "comm/arena/arena_layout.hpp"
#include "gan/optimizer.hpp"

namespace gangway::worker {

/// What one update of a network does.
struct UpdatePlan {
  gan::OptimizerSettings settings;
  std::int64_t update = 1;     ///< number of this update, from 1 on
  int harvests = 0;            ///< statistics added a micro-batch; 0: the phase harvests none
  double average_decay = 0.0;  ///< beta of the weight average; used where the network keeps one
  /// Steps done after it, where it is the network's last update in front of a snapshot.
  std::optional<std::int64_t> snapshot_step = {};
};

/// Sees what an updater is about to do to `range` of a network, and what it did. Lane thread.
class UpdateWatcher {
 public:
  virtual ~UpdateWatcher() = default;
  /// @param mean  the gradient's; range.size()
  virtual void before_update(comm::ElementRange range, std::span<const float> mean) = 0;
  virtual void after_update(comm::ElementRange range, const UpdatePlan& plan) = 0;
};

}  // namespace gangway::worker
