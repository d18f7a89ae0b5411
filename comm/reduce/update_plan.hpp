// SPDX-License-Identifier: MIT
// Describes one update of a network as plain numbers. Made by the compute thread. Carried out on
// CPUs by the lane (worker/step/network_updater.hpp), on GPUs by a kernel
// (comm/cuda/slice_update.hpp).
#pragma once

#include <cstdint>
#include <optional>

#include "comm/reduce/update_counts.hpp"
#include "job/optimizers.hpp"

namespace gangway::comm {

/// The rules by which all workers scale, clip or skip one update. If `is_needed`, no worker updates
/// before the norm of the whole mean gradient is known.
struct Agreement {
  bool is_needed = false;  ///< false: each piece is updated as soon as it is summed
  bool may_skip = true;    ///< whether a norm that is not finite skips the update
  double clip_norm = 0.0;  ///< the gradient is scaled down to this norm; 0: no clipping
  /// The losses were multiplied by 2^this before backward; the gradient is divided by it.
  std::int64_t scale_exponent = 0;
  bool is_scaled = false;  ///< whether the network has its own loss scale
};

struct UpdatePlan {
  OptimizerSpec settings;  ///< learning-rate schedules applied
  UpdateCounts counts;     ///< before the update; for an observer, after it
  int harvests = 0;        ///< statistics added per micro-batch; 0: none in this phase
  /// beta of the weight average, if the network has one; 1: the average stays unchanged.
  double average_decay = 0.0;
  /// Steps done after this update, if it is the network's last before a snapshot.
  std::optional<std::int64_t> snapshot_step = {};
  Agreement agreement = {};
  bool was_skipped = false;  ///< for an observer, after the update

  /// The update's number, from 1 on, for the optimiser's bias correction.
  [[nodiscard]] std::int64_t number() const { return counts.updates + 1; }
};

/// Returns the network's counts after the update was made or skipped.
[[nodiscard]] inline UpdateCounts counts_after(const UpdatePlan& plan, bool was_skipped) {
  const bool is_scaled = plan.agreement.is_scaled;
  const std::int64_t used = plan.agreement.scale_exponent;
  return was_skipped ? skipped(plan.counts, is_scaled, used)
                     : updated(plan.counts, is_scaled, used);
}

}  // namespace gangway::comm
