// SPDX-License-Identifier: MIT
// What one update of a network does, as plain numbers. Made by the thread that computes; carried
// out by the lane on hosts (worker/step/network_updater.hpp), by a kernel on devices
// (comm/cuda/slice_update.hpp).
#pragma once

#include <cstdint>
#include <optional>

#include "comm/reduce/update_counts.hpp"
#include "job/optimizers.hpp"

namespace gangway::comm {

/// What all workers settle about a network's mean gradient before anybody updates: the one point of
/// an exchange where a decision is taken from global figures.
struct Agreement {
  bool is_needed = false;  ///< else each piece is updated as soon as it is summed
  bool may_skip = true;    ///< whether an update is skipped where the norm is not finite
  double clip_norm = 0.0;  ///< the gradient is scaled down to this norm; 0: it is not
  /// The losses were multiplied by 2^this before backward, the gradient is divided by it.
  std::int64_t scale_exponent = 0;
  bool is_scaled = false;  ///< whether that is the network's own, which follows from how updates go
};

struct UpdatePlan {
  OptimizerSpec settings;  ///< schedules applied
  UpdateCounts counts;     ///< the network's, before it; to who watches it, after it
  int harvests = 0;        ///< statistics added a micro-batch; 0: the phase harvests none
  /// beta of the weight average, where the network keeps one; 1: it stays as it is.
  double average_decay = 0.0;
  /// Steps done after it, where it is the network's last update in front of a snapshot.
  std::optional<std::int64_t> snapshot_step = {};
  Agreement agreement = {};
  bool was_skipped = false;  ///< to who watches it

  /// Its number, from 1 on: that of the optimiser's bias correction.
  [[nodiscard]] std::int64_t number() const { return counts.updates + 1; }
};

/// The network's counts when the update was made, or skipped.
[[nodiscard]] inline UpdateCounts counts_after(const UpdatePlan& plan, bool was_skipped) {
  const bool is_scaled = plan.agreement.is_scaled;
  const std::int64_t used = plan.agreement.scale_exponent;
  return was_skipped ? skipped(plan.counts, is_scaled, used)
                     : updated(plan.counts, is_scaled, used);
}

}  // namespace gangway::comm
