// SPDX-License-Identifier: MIT
// One network's way from local gradients to new weights everywhere, as the operations of a schedule
// ask for it. worker/step/cpu_exchange.hpp does it in host memory, worker/cuda/cuda_exchange.hpp on
// CUDA devices. Compute thread.
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

/// What every network's exchange shares.
struct ExchangeSetup {
  comm::Transport& transport;
  comm::Lane& lane;
  comm::HostGroup& host;
  std::vector<MicrobatchRange> ranges;  ///< of every worker
  std::vector<int> hosts;               ///< by worker: equal where memory is shared
  std::vector<int> machines = {};       ///< by worker: equal where it could be; empty: nowhere
  int num_microbatches = 1;
  std::chrono::milliseconds timeout{60'000};
  std::function<void(const std::string&)> on_stall = {};  ///< lane thread
  comm::LaneTrace* trace = nullptr;                       ///< of the lane; null: none
  /// Where networks are apart, each one's own, null where this worker does not hold it; empty: this
  /// is every network's.
  std::vector<const ExchangeSetup*> by_network = {};

  std::vector<int> workers = {};  ///< whose this is, of a group; empty: of all

  /// All who hold some chunk of the network, where these workers share one chunk of it.
  struct Whole {
    comm::Transport* transport = nullptr;  ///< of all workers
    std::vector<int> workers = {};         ///< of `transport`; empty: these have all of it
  };
  Whole whole = {};

  [[nodiscard]] const ExchangeSetup* of(NetworkId network) const {
    return by_network.empty() ? this : by_network.at(static_cast<std::size_t>(network));
  }
};

/// How long computing stood still for one exchange: the thread that computes, or the device's
/// stream.
struct Exposure {
  int phase = 0;  ///< that began the exchange
  double seconds = 0.0;
  std::vector<double> by_bucket;  ///< the part of it for which each bucket was the last to come
};

class NetworkExchange {
 public:
  virtual ~NetworkExchange() = default;
  /// From now on `watcher`, too, sees all updates; it outlives this. @pre nothing is open
  virtual void show_updates_to(UpdateWatcher& watcher) = 0;
  /// Until watchers have seen what they wished to see of updates that were awaited: on a device
  /// those are under way still.
  virtual void await_shown() {}
  /// The updates' arithmetic on the host, with equal bits.
  virtual void recompute(const UpdatePlan& plan, const comm::ArenaLayout& layout,
                         const UpdateSlice& slice) const {
    update_slice(plan, layout, slice);
  }

  virtual void open_leaf() = 0;
  virtual void close_leaf(int microbatch) = 0;
  /// Forgets the leaves since the last exchange: the first comes again.
  virtual void restart_leaves() = 0;
  /// The memory of all leaves and of what they were added up to, where the network computes.
  [[nodiscard]] virtual at::Tensor gradient_sums() = 0;
  /// Begins the exchange of `phase`. @pre the one before was awaited
  virtual void open(int phase, const UpdatePlan& plan) = 0;
  [[nodiscard]] virtual bool is_open() const = 0;
  /// The last backward of a phase follows: what it completes travels at once. @pre open
  virtual void arm() = 0;
  /// As arm(), of a backward that is recorded, or computed to be compared: nothing travels.
  virtual void rehearse() = 0;
  /// It is over. Returns the buckets that it has completed.
  [[nodiscard]] virtual std::vector<std::size_t> rehearsed() = 0;
  /// Runs `play`, which plays what was recorded. Returns whether the sums that travel were in these
  /// buckets, where each was complete, what they are when all has been played. Waits for the
  /// device.
  /// @pre nothing is open, and other numbers were put there
  [[nodiscard]] virtual bool completes(const std::vector<std::size_t>& buckets,
                                       const std::function<void()>& play) = 0;
  /// What was recorded lies on the device: these buckets travel as soon as each is complete there.
  /// @pre open
  virtual void send_played(const std::vector<std::size_t>& buckets) = 0;
  /// A block's gradients are complete without autograd having accumulated them.
  virtual void complete_block(std::size_t block) = 0;
  /// All gradients are complete: what has not left travels now. @pre open
  virtual void reduce() = 0;
  /// What follows sees the new weights; returns at once where nothing is under way.
  virtual void await() = 0;
  /// Whether the update that was awaited last was skipped: its gradient was not finite. May wait
  /// for a device.
  [[nodiscard]] virtual bool was_skipped() const = 0;
  /// Whether it does, so that who need not know yet had better ask later.
  [[nodiscard]] virtual bool tells_late() const { return false; }
  /// Norm of its gradient, before clipping; nothing: the workers have not agreed on one, or nobody
  /// has told this thread.
  [[nodiscard]] virtual std::optional<double> agreed_norm() const = 0;

  /// Of exchanges that were awaited, as far as it is known by now; each once.
  [[nodiscard]] virtual std::vector<Exposure> take_exposures() = 0;
  /// Parameters that had no gradient when their phase ended, since the last call.
  [[nodiscard]] virtual std::size_t take_unfired() = 0;
};

}  // namespace gangway::worker
