// SPDX-License-Identifier: MIT
// One network's way from local gradients to new weights everywhere: partials, reducer, updater, and
// the lane that runs them. Compute thread.
#pragma once

#include <chrono>

#include "comm/lane.hpp"
#include "comm/partial_stack.hpp"
#include "comm/reducer.hpp"
#include "worker/network_updater.hpp"

namespace gangway::worker {

/// What every network's exchange shares.
struct Exchange {
  comm::Transport& transport;
  comm::Lane& lane;
  std::vector<comm::MicrobatchRange> ranges;  ///< of every worker
  int num_microbatches = 1;
  std::chrono::milliseconds timeout{60'000};
};

class NetworkSync {
 public:
  NetworkSync(NetworkState& state, int network, const Exchange& exchange);

  void open_leaf();
  void close_leaf(int microbatch);
  /// Partials start to travel; they may not be touched until `update` has returned.
  void reduce();
  /// Waits for the norm of the mean gradient.
  [[nodiscard]] double gradient_norm();
  /// Waits for new weights made from `scale` times the mean gradient.
  void update(const NetworkUpdater::Plan& plan, float scale);

  /// Seconds that the compute thread has waited for the lane since the last call.
  [[nodiscard]] double take_exposed_seconds();

 private:
  void wait(comm::Lane::Ticket ticket);

  NetworkState& state_;
  comm::Lane& lane_;
  comm::PartialStack partials_;
  NetworkUpdater updater_;
  comm::Reducer reducer_;
  double exposed_seconds_ = 0.0;
};

}  // namespace gangway::worker
