// SPDX-License-Identifier: MIT
// Moves tensors between workers during a step: one network's outputs to the worker of the next, and
// gradients back. A send never waits; a receive finds its tensor by key, in any order of arrival.
// Called by the pipeline's compute thread. No LibTorch; knows shapes and bytes only.
//
// Uses shared memory between workers of one host, and messages otherwise. Gradients leave room for
// those messages (Transport::bound_bulk).
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/guarded.hpp"
#include "comm/lane.hpp"
#include "comm/tensors/tensor_messages.hpp"
#include "comm/tensors/tensor_streams.hpp"
#include "comm/tensors/tensor_way.hpp"
#include "comm/transport/transport.hpp"

namespace gangway::comm {

/// Bytes of gradients and weights in MPI for one worker while tensors are sent, beside the bytes in
/// the kernel. A tensor may wait behind them. 1 Gbit/s carries them in a millisecond;
/// docs/measurements.md compares other sizes.
inline constexpr std::size_t kBulkBesideTensors = 2 * kMostSegmentBytes;

struct TensorChannelSetup {
  std::chrono::milliseconds timeout{60'000};
  std::function<void(const std::string&)> on_stall = {};  ///< lane thread
  HostStreams* streams = nullptr;  ///< to this host's workers; outlives the channel; or null
  std::size_t bulk_window = kBulkBesideTensors;  ///< 0: tensors wait behind all earlier messages
  std::size_t most_joined = kMostJoinedBytes;    ///< of TensorMessages; equal on all workers
};

class TensorChannel final : public Exchange {
 public:
  using Clock = std::chrono::steady_clock;
  /// @param transport  of all workers. `transport` and `lane` outlive this object
  TensorChannel(Transport& transport, Lane& lane, TensorChannelSetup setup);
  ~TensorChannel() override;
  TensorChannel(const TensorChannel&) = delete;
  TensorChannel& operator=(const TensorChannel&) = delete;

  // --- compute thread ---

  /// Announces `count` more tensors from `peer`; the lane receives only announced tensors.
  void expect(int peer, int count);
  /// Never waits. @param owner  keeps `bytes` alive and unchanged until they are sent
  void send(int peer, const TensorKey& key, const TensorShape& shape,
            std::span<const std::byte> bytes, std::shared_ptr<const void> owner);
  /// Waits for the tensor. @throws CommError naming `peer` if it does not arrive in time
  [[nodiscard]] ReceivedTensor receive(int peer, const TensorKey& key);
  /// Waits until all sends have left. @throws CommError naming the worker that does not receive
  void finish_sending();

  // --- lane ---

  [[nodiscard]] Need needs() const override { return need_.load(std::memory_order_acquire); }
  bool advance() override;

 private:
  /// The compute thread's wait.
  struct Wait {
    int peer = 0;
    std::optional<TensorKey> key = {};  ///< none: waits until all sends have left
    Clock::time_point since;            ///< start; of a send wait, the latest progress
  };

  [[nodiscard]] bool is_shared(int peer) const { return streams_ && setup_.streams->reach(peer); }
  [[nodiscard]] TensorWay& way_to(int peer);
  [[nodiscard]] Need need_of(int peer) const {
    return is_shared(peer) ? Need::kHost : Need::kMessages;
  }
  /// Makes the lane poll `peer`'s path.
  void call_for(int peer) GANGWAY_REQUIRES(mutex_);
  void take_over();
  void arrived(int peer, const TensorKey& key, ReceivedTensor tensor);
  void check_deadline();
  [[nodiscard]] std::string describe(const Wait& wait, double seconds) const;
  /// Updates the need and the counts. @param moved  whether this poll made progress
  void settle(bool moved);

  Transport& transport_;
  Lane& lane_;
  TensorChannelSetup setup_;
  std::atomic<Need> need_ = Need::kNothing;

  Mutex mutex_;
  std::deque<OutgoingTensor> submitted_ GANGWAY_GUARDED_BY(mutex_);
  std::map<int, int> announced_ GANGWAY_GUARDED_BY(mutex_);  // by peer
  std::map<std::pair<int, TensorKey>, ReceivedTensor> here_ GANGWAY_GUARDED_BY(mutex_);
  std::optional<Wait> wait_ GANGWAY_GUARDED_BY(mutex_);
  std::size_t unsent_ GANGWAY_GUARDED_BY(mutex_) = 0;

  // Lane thread.
  TensorMessages messages_;
  std::optional<TensorStreams> streams_;
  bool stall_reported_ = false;
};

}  // namespace gangway::comm
