// SPDX-License-Identifier: MIT
// Tensors between workers, one at a time, in the midst of a step: what one network makes and
// another, elsewhere, takes, and its gradient back. A send never waits, and a receive finds its
// tensor by its key, in whatever order they come. Knows shapes and bytes, and no LibTorch.
//
// Of two workers each sends in one stream: a header that says what follows, then its elements.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/guarded.hpp"
#include "comm/lane.hpp"
#include "comm/transport/pending.hpp"
#include "comm/transport/transport.hpp"

namespace gangway::comm {

/// Which tensor of a step it is: unique among those that two workers have under way.
struct TensorKey {
  std::int64_t step = 0;
  std::int32_t phase = 0;
  std::int32_t repeat = 0;
  std::int32_t pass = 0;
  std::int32_t microbatch = 0;
  std::int32_t node = 0;
  std::int32_t output = 0;       ///< of the node's
  std::int32_t is_gradient = 0;  ///< 1: of a loss, with respect to it
  std::int32_t reserved = 0;
  auto operator<=>(const TensorKey&) const = default;
};

/// As bits on the wire: workers of a job run one build on machines of one kind.
struct TensorShape {
  static constexpr std::size_t kMostAxes = 6;
  std::int32_t type = 0;   ///< the sender's number of its elements' type
  std::int32_t axes = -1;  ///< -1: there is no tensor (nothing gave a gradient)
  std::array<std::int64_t, kMostAxes> sizes{};
  std::array<std::int64_t, kMostAxes> strides{};
  std::uint64_t bytes = 0;  ///< of memory that it spans
  bool operator==(const TensorShape&) const = default;
};

struct ReceivedTensor {
  TensorShape shape;
  std::shared_ptr<std::byte> memory;  ///< shape.bytes, aligned to 64
};

class TensorChannel final : public Exchange {
 public:
  using Clock = std::chrono::steady_clock;
  struct Setup {
    std::chrono::milliseconds timeout{60'000};
    std::function<void(const std::string&)> on_stall = {};  ///< lane thread
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
  /// Until all that was sent has left.
  void finish_sending();

  // --- lane ---

  [[nodiscard]] Need needs() const override { return need_.load(std::memory_order_acquire); }
  bool advance() override;

 private:
  struct Header {
    TensorKey key;
    TensorShape shape;
  };
  struct Outgoing {
    Header header;
    int peer = 0;
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> owner;
    std::vector<PendingRequest> requests = {};
  };
  /// What comes from one worker.
  struct Incoming {
    int expected = 0;  // headers not yet seen
    std::optional<RequestId> request;
    bool is_payload = false;  // `request` is for
    Header header;
    ReceivedTensor tensor;
  };
  /// What compute waits for.
  struct Wait {
    int peer = 0;
    TensorKey key;
    Clock::time_point since;
  };

  [[nodiscard]] MessageTag tag() const {
    return {transport_.epoch(), 0, MessageKind::kTensor, 0, 0};
  }
  void take_over();
  bool advance_sends();
  bool advance_receives(int peer, Incoming& incoming);
  void arrived(int peer, Incoming& incoming);
  void check_deadline();
  void set_need();

  Transport& transport_;
  Lane& lane_;
  Setup setup_;
  std::atomic<Need> need_ = Need::kNothing;

  Mutex mutex_;
  std::deque<Outgoing> submitted_ GANGWAY_GUARDED_BY(mutex_);
  std::map<int, int> announced_ GANGWAY_GUARDED_BY(mutex_);  // by peer
  std::map<std::pair<int, TensorKey>, ReceivedTensor> here_ GANGWAY_GUARDED_BY(mutex_);
  std::optional<Wait> wait_ GANGWAY_GUARDED_BY(mutex_);
  std::size_t unsent_ GANGWAY_GUARDED_BY(mutex_) = 0;

  // Lane thread.
  std::deque<Outgoing> leaving_;
  std::map<int, Incoming> incoming_;  // by peer
  bool stall_told_ = false;
};

}  // namespace gangway::comm
