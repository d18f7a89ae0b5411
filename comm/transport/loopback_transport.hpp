// SPDX-License-Identifier: MIT
// Runs ranks as threads of one process, for tests above the transport. Tests can inject delay, loss
// and death.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <tuple>
#include <vector>

#include "base/guarded.hpp"
#include "comm/transport/transport.hpp"

namespace gangway::comm {

/// The wires between the ranks of one test. Thread-safe; outlives its transports.
class LoopbackHub {
 public:
  using Clock = std::chrono::steady_clock;
  /// The delay or loss of one message.
  struct MessageFault {
    std::chrono::microseconds delay{0};
    bool lost = false;
  };
  using Injector = std::function<MessageFault(int from, int to, MessageTag tag)>;

  explicit LoopbackHub(int num_workers)
      : num_workers_(num_workers), dead_(static_cast<std::size_t>(num_workers)) {}

  [[nodiscard]] int num_workers() const { return num_workers_; }
  /// Decides the fate of every later message; called with the hub locked.
  void inject(Injector injector);
  /// Makes all later operations of and with `worker` fail, as after SIGKILL.
  void kill(int worker);

 private:
  friend class LoopbackTransport;
  struct Message {
    std::vector<std::byte> bytes;
    Clock::time_point arrival;
  };
  using Wire = std::tuple<int, int, int>;  // from, to, packed tag

  int num_workers_;
  Mutex mutex_;
  std::condition_variable changed_;
  std::map<Wire, std::deque<Message>> in_flight_ GANGWAY_GUARDED_BY(mutex_);
  std::vector<bool> dead_ GANGWAY_GUARDED_BY(mutex_);
  Injector injector_ GANGWAY_GUARDED_BY(mutex_);
};

class LoopbackTransport final : public Transport {
 public:
  LoopbackTransport(LoopbackHub& hub, int worker, std::int64_t epoch = 0)
      : hub_(hub), worker_(worker), epoch_(epoch) {}

  [[nodiscard]] int worker() const override { return worker_; }
  [[nodiscard]] int num_workers() const override { return hub_.num_workers(); }
  [[nodiscard]] std::int64_t epoch() const override { return epoch_; }
  [[nodiscard]] RequestId start_send(int peer, MessageTag tag,
                                     std::span<const std::byte> bytes) override;
  [[nodiscard]] RequestId start_receive(int peer, MessageTag tag,
                                        std::span<std::byte> bytes) override;
  [[nodiscard]] RequestId start_receive_up_to(int peer, MessageTag tag,
                                              std::span<std::byte> bytes) override;
  [[nodiscard]] bool done(RequestId request) override;
  void idle() override;

 private:
  struct Receive {
    int peer = 0;
    MessageTag tag;
    std::span<std::byte> bytes;
    bool may_be_shorter = false;
  };

  LoopbackHub& hub_;
  int worker_;
  std::int64_t epoch_;
  RequestId next_request_ = 1;
  std::map<RequestId, Receive> receives_;  // sends complete at once
};

}  // namespace gangway::comm
