// SPDX-License-Identifier: MIT
// Wraps a transport and records how long each message takes. Used only if a run is traced. Lane
// thread.
#pragma once

#include <cstddef>
#include <vector>

#include "comm/transport/trace.hpp"
#include "comm/transport/transport.hpp"

namespace gangway::comm {

/// A message, from the start of its send or receive until done() returned true.
struct MessageEvent {
  TraceClock::time_point begin;
  TraceClock::time_point end;
  MessageTag tag;
  int peer = 0;
  std::size_t bytes = 0;  ///< of a receive of unknown length: the largest possible
  bool is_send = false;
};

class TracedTransport final : public Transport {
 public:
  /// @param inner  outlives this object
  TracedTransport(Transport& inner, std::size_t capacity);

  [[nodiscard]] int worker() const override { return inner_.worker(); }
  [[nodiscard]] int num_workers() const override { return inner_.num_workers(); }
  [[nodiscard]] std::int64_t epoch() const override { return inner_.epoch(); }
  [[nodiscard]] RequestId start_send(int peer, MessageTag tag,
                                     std::span<const std::byte> bytes) override;
  [[nodiscard]] RequestId start_receive(int peer, MessageTag tag,
                                        std::span<std::byte> bytes) override;
  [[nodiscard]] RequestId start_receive_up_to(int peer, MessageTag tag,
                                              std::span<std::byte> bytes) override;
  [[nodiscard]] bool done(RequestId request) override;
  void idle() override { inner_.idle(); }
  void bound_bulk(std::size_t window_bytes) override { inner_.bound_bulk(window_bytes); }

  [[nodiscard]] TraceRing<MessageEvent>& ring() { return ring_; }

 private:
  /// A message that was started while the ring was on.
  struct Open {
    RequestId request = 0;
    MessageEvent event;
  };
  void opened(RequestId request, const MessageEvent& event);

  Transport& inner_;
  TraceRing<MessageEvent> ring_;
  std::vector<Open> open_;  // never grows beyond its reserved memory
};

}  // namespace gangway::comm
