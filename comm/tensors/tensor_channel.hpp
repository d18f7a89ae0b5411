// SPDX-License-Identifier: MIT
// Tensors between workers, one at a time, in the midst of a step: what one network makes and
// another, elsewhere, takes, and its gradient back. A send never waits, and a receive finds its
// tensor by its key, in whatever order they come. Knows shapes and bytes, and no LibTorch.
//
// Between workers that share memory they go through it, between others as messages, before which
// gradients leave room.
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

/// Of gradients and weights on their way to one worker while there are tensors to be sent: what a
/// tensor may find before it in MPI, beside what the kernel has taken. 1 Gbit/s carries it in a
/// millisecond; docs/measurements.md says what more and less do.
inline constexpr std::size_t kBulkBesideTensors = 2 * kMostSegmentBytes;

class TensorChannel final : public Exchange {
 public:
  using Clock = std::chrono::steady_clock;
  struct Setup {
    std::chrono::milliseconds timeout{60'000};
    std::function<void(const std::string&)> on_stall = {};  ///< lane thread
    HostStreams* streams = nullptr;  ///< with workers of this host; outlives the channel; or null
    std::size_t bulk_window = kBulkBesideTensors;  ///< 0: tensors go behind all that was sent
    std::size_t most_joined = kMostJoinedBytes;    ///< of TensorMessages; equal on all workers
  };
  /// @param transport  of all workers; outlives this, as the lane does, to which it is attached
  TensorChannel(Transport& transport, Lane& lane, Setup setup);
  ~TensorChannel() override;
  TensorChannel(const TensorChannel&) = delete;
  TensorChannel& operator=(const TensorChannel&) = delete;

  // --- compute thread ---

  /// `count` more tensors will come from `peer`: only announced ones are listened for.
  void expect(int peer, int count);
  /// Never waits. @param owner  keeps `bytes` alive and unchanged until they have left
  void send(int peer, const TensorKey& key, const TensorShape& shape,
            std::span<const std::byte> bytes, std::shared_ptr<const void> owner);
  /// Waits for it. @throws CommError naming `peer` where it does not come in time
  [[nodiscard]] ReceivedTensor receive(int peer, const TensorKey& key);
  /// Until all that was sent has left. @throws CommError naming who does not take it in time
  void finish_sending();

  // --- lane ---

  [[nodiscard]] Need needs() const override { return need_.load(std::memory_order_acquire); }
  bool advance() override;

 private:
  /// What compute waits for.
  struct Wait {
    int peer = 0;
    std::optional<TensorKey> key = {};  ///< nothing: that what was sent has left
    Clock::time_point since;            ///< of a send, when anything moved last
  };

  [[nodiscard]] bool is_shared(int peer) const { return streams_ && setup_.streams->reach(peer); }
  [[nodiscard]] TensorWay& way_to(int peer);
  [[nodiscard]] Need need_of(int peer) const {
    return is_shared(peer) ? Need::kHost : Need::kMessages;
  }
  /// Has the lane look after `peer`.
  void call_for(int peer) GANGWAY_REQUIRES(mutex_);
  void take_over();
  void arrived(int peer, const TensorKey& key, ReceivedTensor tensor);
  void check_deadline();
  [[nodiscard]] std::string describe(const Wait& wait, double seconds) const;
  /// After a round that `moved` something or not.
  void settle(bool moved);

  Transport& transport_;
  Lane& lane_;
  Setup setup_;
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
  bool stall_told_ = false;
};

}  // namespace gangway::comm
