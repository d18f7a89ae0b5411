// SPDX-License-Identifier: MIT
// Interface for code that watches updates of a network's state: to copy the state afterwards, or to
// check it.
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

/// Most elements that a device shows of one update: each is a copy to the host.
constexpr std::size_t kMostShownElements = 4 * comm::kBlockElements;

/// The parts of an update on a device that a watcher wants to see; it sees no others.
struct UpdateWish {
  comm::ElementRange elements = {};  ///< of one own slice, kMostShownElements at most
  bool squares = false;              ///< of all own slices, like those below
  bool histograms = false;
};

/// Figures that a device computes on the own slices of an update, if wished for.
struct UpdateSums {
  /// Sums of squares by block of the parameters; 0 for blocks of other owners.
  std::span<const double> gradient;
  std::span<const double> change;
  std::span<const double> weights;
  struct Tensor {
    HistogramCounts weights;
    HistogramCounts gradients;
  };
  std::vector<Tensor> tensors;  ///< by parameter
};

/// Sees the state before and after an update. Lane thread, except wish().
class UpdateWatcher {
 public:
  virtual ~UpdateWatcher() = default;
  virtual void before_update(const UpdateSlice& slice) = 0;
  virtual void after_update(const UpdateSlice& slice, const UpdatePlan& plan) = 0;

  // For updates on a device; the two above then get the wished-for elements.

  /// Returns the wish for the update that is opened next. Compute thread.
  [[nodiscard]] virtual UpdateWish wish() const { return {}; }
  /// Called instead of the two above if figures were wished for.
  virtual void take(const UpdateSums& /*sums*/, const UpdatePlan& /*plan*/) {}
};

}  // namespace gangway::worker
