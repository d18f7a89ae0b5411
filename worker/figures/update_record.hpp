// SPDX-License-Identifier: MIT
// What people are shown of one network's updates: norms, and now and then histograms. It is shown
// the slices that this worker updates; the coordinator adds what all workers tell. Looked at are
// single updates, so the price is three passes over a slice that is in the cache, a few times a
// thousand images. Of updates on a device it takes the sums that the device has made.
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
  /// What is wanted of an update.
  struct Wish {
    bool norms = false;
    std::optional<std::int64_t> histograms = {};  ///< of so many steps done
  };
  UpdateRecord(NetworkState& state, NetworkId network) : state_(state), network_(network) {}

  // Compute thread, these five.

  /// Whether an update is looked at that is not settled.
  [[nodiscard]] bool is_looking() const { return wish_.has_value(); }
  /// Another update is about to be opened: what was looked at is over. @pre no exchange is under
  /// way
  void settle();
  /// The update that is opened next, by `plan`, is looked at. @pre settled
  void begin(const UpdatePlan& plan, const Wish& wish);
  /// Adds what was settled since the last call, of several updates the last.
  void tell(messages::Progress& progress);
  [[nodiscard]] UpdateWish wish() const override;

  // Lane thread.

  void before_update(const UpdateSlice& slice) override;
  void after_update(const UpdateSlice& slice, const UpdatePlan& plan) override;
  void take(const UpdateSums& sums, const UpdatePlan& plan) override;

 private:
  /// Of one tensor.
  struct Distributions {
    Histogram weights;
    Histogram gradients;
  };
  /// Sums of squares by kBlockElements, so that they are added in one order.
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
  std::optional<Wish> wish_;    // of the update that is open; nothing: none is looked at
  messages::UpdateFigures at_;  // that update
  bool was_skipped_ = false;    // it, as far as this worker was shown
  BlockSquares squares_;
  std::vector<Distributions> distributions_;  // by parameter; empty: none are wanted
  std::vector<float> before_;                 // weights of the range in hand
  std::optional<messages::UpdateFigures> settled_;
  std::vector<messages::HistogramPart> settled_histograms_;
};

}  // namespace gangway::worker
