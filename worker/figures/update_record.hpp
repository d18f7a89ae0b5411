// SPDX-License-Identifier: MIT
// Measures one network's updates for the user: norms, and sometimes histograms. Sees the slices
// that this worker updates; the coordinator adds the figures of all workers. Costs three passes
// over a cached slice, a few times per thousand images. For updates on a device it takes the
// device's sums.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/numbers/histogram.hpp"
#include "job/models/network_id.hpp"
#include "run/messages/messages.hpp"
#include "worker/state/network_state.hpp"
#include "worker/state/update_watcher.hpp"

namespace gangway::worker {

class UpdateRecord final : public UpdateWatcher {
 public:
  /// Figures to measure of an update.
  struct Wish {
    bool norms = false;
    std::optional<std::int64_t> histograms = {};  ///< steps done; nothing: none
  };
  UpdateRecord(NetworkState& state, NetworkId network) : state_(state), network_(network) {}

  // The next five functions: compute thread.

  /// Returns whether a measured update is not settled yet.
  [[nodiscard]] bool is_looking() const { return wish_.has_value(); }
  /// Stores the figures of the measured update before the next opens. @pre no exchange is under way
  void settle();
  /// Measures the update that is opened next, by `plan`. @pre settled
  void begin(const UpdatePlan& plan, const Wish& wish);
  /// Adds the figures settled since the last call; of several updates, the last one's.
  void tell(messages::Progress& progress);
  [[nodiscard]] UpdateWish wish() const override;

  // Lane thread.

  void before_update(const UpdateSlice& slice) override;
  void after_update(const UpdateSlice& slice, const UpdatePlan& plan) override;
  void take(const UpdateSums& sums, const UpdatePlan& plan) override;

 private:
  /// Histograms of one tensor.
  struct Distributions {
    Histogram weights;
    Histogram gradients;
  };
  /// Sums of squares by kBlockElements, so that their order of addition is fixed.
  struct BlockSquares {
    std::vector<double> gradient;
    std::vector<double> change;
    std::vector<double> weights;
  };
  [[nodiscard]] comm::ElementRange parameters_of(comm::ElementRange range) const;
  void count(const UpdateSlice& slice);
  [[nodiscard]] std::vector<messages::HistogramPart> parts(std::int64_t step) const;

  NetworkState& state_;
  NetworkId network_;
  std::optional<Wish> wish_;    // of the open update; nothing: it is not measured
  messages::UpdateFigures at_;  // the open update
  bool was_skipped_ = false;    // the open update, as this worker saw it
  BlockSquares squares_;
  std::vector<Distributions> distributions_;  // by parameter; empty: none are wanted
  std::vector<float> before_;                 // weights of the current range before the update
  std::optional<messages::UpdateFigures> settled_;
  std::vector<messages::HistogramPart> settled_histograms_;
};

}  // namespace gangway::worker
