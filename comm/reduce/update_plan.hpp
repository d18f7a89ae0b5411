// SPDX-License-Identifier: MIT
// What one update of a network does, as plain numbers. Made by the thread that computes; carried
// out by the lane on hosts (worker/step/network_updater.hpp), by a kernel on devices
// (comm/cuda/slice_update.hpp).
#pragma once

#include <cstdint>
#include <optional>

#include "job/optimizers.hpp"

namespace gangway::comm {

struct UpdatePlan {
  OptimizerSpec settings;      ///< schedules applied
  std::int64_t update = 1;     ///< number of this update, from 1 on
  int harvests = 0;            ///< statistics added a micro-batch; 0: the phase harvests none
  double average_decay = 0.0;  ///< beta of the weight average; used where the network keeps one
  /// Steps done after it, where it is the network's last update in front of a snapshot.
  std::optional<std::int64_t> snapshot_step = {};
};

}  // namespace gangway::comm
