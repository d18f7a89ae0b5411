// SPDX-License-Identifier: MIT
// Who sees what an update does to a network's state: whoever copies the state behind it, or checks
// it.
#pragma once

#include <span>

#include "comm/arena/arena_layout.hpp"
#include "comm/reduce/update_plan.hpp"

namespace gangway::worker {

using comm::UpdatePlan;

/// Sees what an updater is about to do to `range` of a network, and what it did. Lane thread.
class UpdateWatcher {
 public:
  virtual ~UpdateWatcher() = default;
  /// @param mean  the gradient's; range.size()
  virtual void before_update(comm::ElementRange range, std::span<const float> mean) = 0;
  virtual void after_update(comm::ElementRange range, const UpdatePlan& plan) = 0;
};

}  // namespace gangway::worker
