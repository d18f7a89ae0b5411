// SPDX-License-Identifier: MIT
// Who sees what an update does to a network's state: whoever copies the state behind it, or checks
// it.
#pragma once

#include <span>
#include <vector>

#include "base/numbers/histogram.hpp"
#include "comm/arena/arena_layout.hpp"
#include "comm/reduce/update_plan.hpp"
#include "job/optimizers.hpp"

namespace gangway::worker {

using comm::UpdatePlan;

/// The part of a network's state that an update works on; spans of range.size().
struct UpdateSlice {
  comm::ElementRange range;  ///< multiples of kBlockElements; may reach into the statistics
  std::span<const float> mean;
  std::span<float> weights;
  PerMoment<std::span<float>> moments;
  std::span<float> average;  ///< empty where the network keeps none
};

/// Elements that a device shows of one update, at most: each is a copy to the host.
constexpr std::size_t kMostShownElements = 4 * comm::kBlockElements;

/// What of an update that a device makes is to be shown: what is not, nobody sees.
struct UpdateWish {
  comm::ElementRange elements = {};  ///< of one own slice, kMostShownElements at most
  bool squares = false;              ///< figures of all own slices, as are those below
  bool histograms = false;
};

/// What a device has found out about the own slices of an update, where that was wished for.
struct UpdateSums {
  /// Sums of squares by block of the parameters; 0 of what others own.
  std::span<const double> gradient;
  std::span<const double> change;
  std::span<const double> weights;
  struct Tensor {
    HistogramCounts weights;
    HistogramCounts gradients;
  };
  std::vector<Tensor> tensors;  ///< by parameter
};

/// Sees what an updater is about to do to a network, and what it did. Lane thread, but for wish().
class UpdateWatcher {
 public:
  virtual ~UpdateWatcher() = default;
  virtual void before_update(const UpdateSlice& slice) = 0;
  virtual void after_update(const UpdateSlice& slice, const UpdatePlan& plan) = 0;

  // Of updates that a device makes. The two above then have what was wished for.

  /// Of the update that is opened next. Compute thread.
  [[nodiscard]] virtual UpdateWish wish() const { return {}; }
  /// In the place of the two above, where figures were wished for.
  virtual void take(const UpdateSums& /*sums*/, const UpdatePlan& /*plan*/) {}
};

}  // namespace gangway::worker
