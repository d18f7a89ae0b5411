// SPDX-License-Identifier: MIT
// Sends and receives messages synchronously, while no other exchange is under way. Lane thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "comm/transport/pending.hpp"
#include "comm/transport/transport.hpp"
#include "run/control_protocol.hpp"

namespace gangway::comm {

/// Blocking messages. Each call throws a CommError naming the peer after kStartDeadline.
class SyncChannel {
 public:
  /// @param what  the purpose, for error messages; a literal
  SyncChannel(Transport& transport, const char* what) : transport_(transport), purpose_(what) {}

  void send(int peer, std::span<const std::byte> bytes) {
    wait(peer, transport_.start_send(peer, tag(), bytes));
  }
  void receive(int peer, std::span<std::byte> bytes) {
    wait(peer, transport_.start_receive(peer, tag(), bytes));
  }
  void send_number(int peer, std::uint64_t number) {
    send(peer, std::as_bytes(std::span(&number, 1)));
  }
  [[nodiscard]] std::uint64_t receive_number(int peer) {
    std::uint64_t number = 0;
    receive(peer, std::as_writable_bytes(std::span(&number, 1)));
    return number;
  }
  void send_text(int peer, const std::string& text) {
    send_number(peer, text.size());
    send(peer, std::as_bytes(std::span(text)));
  }
  [[nodiscard]] std::string receive_text(int peer) {
    std::string text(receive_number(peer), '\0');
    receive(peer, std::as_writable_bytes(std::span(text)));
    return text;
  }

 private:
  [[nodiscard]] MessageTag tag() const {
    return {transport_.epoch(), 0, MessageKind::kBarrier, 1, 0};
  }
  void wait(int peer, RequestId request) {
    pending_.assign(1, {request, peer});
    wait_all(transport_, pending_, Deadline(kStartDeadline), purpose_);
  }

  Transport& transport_;
  const char* purpose_;
  std::vector<PendingRequest> pending_;
};

}  // namespace gangway::comm
