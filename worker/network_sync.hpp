// SPDX-License-Identifier: MIT
// One network's way from local gradients to new weights everywhere: partials, watch, reducer,
// updater, and the lane that runs them beside the compute thread. Compute thread.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "comm/lane.hpp"
#include "comm/partial_stack.hpp"
#include "comm/reducer.hpp"
#include "worker/gradient_watch.hpp"
#include "worker/network_updater.hpp"

namespace gangway::worker {

/// What every network's exchange shares.
struct ExchangeSetup {
  comm::Transport& transport;
  comm::Lane& lane;
  comm::HostGroup& host;
  std::vector<comm::MicrobatchRange> ranges;  ///< of every worker
  std::vector<int> hosts;                     ///< by worker: equal where memory is shared
  int num_microbatches = 1;
  std::chrono::milliseconds timeout{60'000};
  std::function<void(const std::string&)> on_stall = {};  ///< lane thread
  comm::LaneTrace* trace = nullptr;                        ///< of the lane; null: none
};

/// How long the compute thread waited for one exchange.
struct Exposure {
  double seconds = 0.0;
  std::vector<double> by_bucket;  ///< the part of it for which each bucket was the last to come
};

class NetworkSync {
 public:
  /// Allocates the partials in the host's memory. @pre the host's group is not connected
  /// @param wire  number format of what travels between hosts
  NetworkSync(NetworkState& state, int network, const ExchangeSetup& setup, int worker,
              WireFormat wire);
  ~NetworkSync();
  NetworkSync(const NetworkSync&) = delete;
  NetworkSync& operator=(const NetworkSync&) = delete;
  /// Takes up what the host's workers share. @pre the group is connected
  void connect();
  /// From now on `watcher` sees all updates; it outlives this. @pre nothing is open
  void show_updates_to(UpdateWatcher& watcher) { updater_.show_to(watcher); }

  void open_leaf();
  void close_leaf(int microbatch);
  /// Begins an exchange. @pre the one before was awaited
  void open(const NetworkUpdater::Plan& plan, double clip_norm);
  [[nodiscard]] bool is_open() const { return is_open_; }
  /// The last backward of a phase follows: what it completes travels at once. @pre open
  void arm();
  /// A block's gradients are complete without autograd having accumulated them.
  void complete_block(std::size_t block) { watch_.complete_block(block); }
  /// All gradients are complete: what has not left travels now. @pre open
  void reduce();
  /// Waits until the new weights are everywhere; returns at once where nothing is under way.
  void await();

  /// Of the exchanges awaited since the last call; empty buckets where there was none.
  [[nodiscard]] Exposure take_exposure();
  /// Parameters that had no gradient when their phase ended, since the last call.
  [[nodiscard]] std::size_t take_unfired();

 private:
  NetworkState& state_;
  ExchangeSetup setup_;
  int network_;
  WireFormat wire_;
  comm::PartialStack partials_;
  NetworkUpdater updater_;
  std::optional<comm::Reducer> reducer_;
  GradientWatch watch_;
  bool is_open_ = false;
  Exposure exposure_;
  std::size_t unfired_ = 0;
};

}  // namespace gangway::worker
