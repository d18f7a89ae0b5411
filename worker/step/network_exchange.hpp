// SPDX-License-Identifier: MIT
// Runs one network's exchange for a step: all-reduces gradients, updates this worker's slice,
// all-gathers the new weights. worker/step/cpu_exchange.hpp does it in host memory,
// worker/cuda/cuda_exchange.hpp on CUDA devices. Compute thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "comm/arena/reduction_tree.hpp"
#include "comm/host/host_group.hpp"
#include "comm/lane.hpp"
#include "comm/transport/trace.hpp"
#include "comm/transport/transport.hpp"
#include "worker/step/network_updater.hpp"

namespace gangway::worker {

/// Settings that all networks' exchanges share.
struct ExchangeSetup {
  comm::Transport& transport;
  comm::Lane& lane;
  comm::HostGroup& host;
  std::vector<MicrobatchRange> ranges;  ///< of every worker
  std::vector<int> hosts;               ///< by worker: equal where memory is shared
  std::vector<int> machines = {};       ///< equal where it could be; empty: nowhere
  int num_microbatches = 1;
  std::chrono::milliseconds timeout{60'000};
  std::function<void(const std::string&)> on_stall = {};  ///< lane thread
  comm::LaneTrace* trace = nullptr;                       ///< of the lane; null: none
  /// If networks are apart: each network's own setup, null if this worker does not hold it. Empty:
  /// this setup is every network's.
  std::vector<const ExchangeSetup*> by_network = {};

  std::vector<int> workers = {};  ///< workers of a group's setup; empty: all

  /// All holders of the network, if this group shares one chunk of it.
  struct Whole {
    comm::Transport* transport = nullptr;  ///< of all workers
    std::vector<int> workers = {};         ///< of `transport`; empty: the group has all of it
  };
  Whole whole = {};

  [[nodiscard]] const ExchangeSetup* of(NetworkId network) const {
    return by_network.empty() ? this : by_network.at(static_cast<std::size_t>(network));
  }
};

/// Time for which computing waited for one exchange: the compute thread, or the device's stream.
struct Exposure {
  int phase = 0;  ///< that began the exchange
  double seconds = 0.0;
  std::vector<double> by_bucket;  ///< share during which each bucket was the last
};

/// The exchange's side of recorded steps (worker/step/step_graphs.hpp).
class RecordedExchange {
 public:
  virtual ~RecordedExchange() = default;
  /// Drops the leaves since the last exchange, so that the step can begin again.
  virtual void restart_leaves() = 0;
  /// Returns the memory of all leaves and their sums, on the network's device.
  [[nodiscard]] virtual at::Tensor gradient_sums() = 0;
  /// Like NetworkExchange::arm(), for a recorded or compared backward: nothing travels.
  virtual void rehearse() = 0;
  /// Ends a rehearsed backward. Returns the buckets that it completed.
  [[nodiscard]] virtual std::vector<std::size_t> rehearsed() = 0;
  /// Runs `replay` of a recording. Returns whether each of these buckets already had its
  /// final sums at the moment when the recording marked it complete. Waits for the device.
  /// @pre nothing is open, and other numbers were put there
  [[nodiscard]] virtual bool completes(const std::vector<std::size_t>& buckets,
                                       const std::function<void()>& replay) = 0;
  /// Call after a graph is launched: each of these buckets travels when complete on the device.
  virtual void send_replayed(const std::vector<std::size_t>& buckets) = 0;
};

class NetworkExchange {
 public:
  virtual ~NetworkExchange() = default;
  /// Returns its side of recorded steps; null: this worker does not hold the network.
  [[nodiscard]] virtual RecordedExchange* recorded() = 0;
  /// Adds `watcher`, which sees all updates and outlives this. @pre nothing is open
  virtual void show_updates_to(UpdateWatcher& watcher) = 0;
  /// Waits until watchers have seen what they wished of awaited updates; a device shows them late.
  virtual void await_shown() {}
  /// Computes an update on the host, with equal bits.
  virtual void recompute(const UpdatePlan& plan, const comm::ArenaLayout& layout,
                         const UpdateSlice& slice) const {
    update_slice(plan, layout, slice);
  }

  virtual void open_leaf() = 0;
  virtual void close_leaf(int microbatch) = 0;
  /// Begins the exchange of `phase`. @pre the previous one was awaited
  virtual void open(int phase, const UpdatePlan& plan) = 0;
  [[nodiscard]] virtual bool is_open() const = 0;
  /// Call before the last backward of a phase, whose completed buckets travel at once. @pre open
  virtual void arm() = 0;
  /// Reports that a block's gradients, not accumulated by autograd, are complete.
  virtual void complete_block(std::size_t block) = 0;
  /// Reports that all gradients are complete: the remaining buckets travel now. @pre open
  virtual void reduce() = 0;
  /// Makes later work see the new weights; returns at once if nothing is under way.
  virtual void await() = 0;
  /// Returns whether the last awaited update was skipped because its gradient was not finite. May
  /// wait for a device.
  [[nodiscard]] virtual bool was_skipped() const = 0;
  /// Returns whether was_skipped() waits, so that callers without urgency should call it later.
  [[nodiscard]] virtual bool tells_late() const { return false; }
  /// Returns the norm of the update's gradient before clipping; nothing: the workers did not agree
  /// on a norm, or it is not known on this thread.
  [[nodiscard]] virtual std::optional<double> agreed_norm() const = 0;

  /// Returns the exposures of awaited exchanges that are known by now; each once.
  [[nodiscard]] virtual std::vector<Exposure> take_exposures() = 0;
  /// Returns the number of parameters without a gradient at their phase's end since the last call.
  [[nodiscard]] virtual std::size_t take_unfired() = 0;
};

}  // namespace gangway::worker
