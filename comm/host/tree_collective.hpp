// SPDX-License-Identifier: MIT
// Gathers all members' data at one member, or sends one member's data to all, over a binomial tree:
// two messages per member, log2 of their number in sequence. Used by the lane's thread.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "comm/transport/deadline.hpp"
#include "comm/transport/pending.hpp"
#include "comm/transport/transport.hpp"

namespace gangway::comm {

class TreeCollective {
 public:
  /// @param peers  workers of `transport`, equal on all members, including this one. The first is
  /// the root: it gathers and broadcasts
  TreeCollective(Transport& transport, std::vector<int> peers);
  /// Makes the tree over all workers of `transport`.
  explicit TreeCollective(Transport& transport);

  [[nodiscard]] bool is_root() const { return place_ == 0; }
  /// Gathers the members' parts at the first. The part of the member at place p is the bytes
  /// [begins[p], begins[p + 1]) of `all`; other members receive only their subtree's parts.
  /// Both spans must stay valid until `advance` returns true.
  void gather(MessageTag tag, std::span<std::byte> all, std::span<const std::size_t> begins);
  /// Sends `what` of the first member to all. @pre no gather or broadcast is under way
  void broadcast(MessageTag tag, std::span<std::byte> what);
  /// @return whether this member has done its part. @throws CommError as Transport::done
  [[nodiscard]] bool advance();
  /// Waits until `advance` is true. @param what  for messages. @throws CommError naming a worker
  void finish(const Deadline& deadline, std::string_view what);
  /// Requests that are not done.
  [[nodiscard]] std::span<const PendingRequest> pending() const { return pending_; }

 private:
  void send(std::size_t place, std::span<const std::byte> bytes);
  void receive(std::size_t place, std::span<std::byte> bytes);
  /// Calls `visit` with the place of each child.
  template <typename Visit>
  void for_children(const Visit& visit) const;
  [[nodiscard]] std::size_t parent() const { return place_ & (place_ - 1); }
  /// The place after the last place in the subtree of `place`.
  [[nodiscard]] std::size_t end_below(std::size_t place) const;

  Transport& transport_;
  std::vector<int> peers_;  // by place
  std::size_t place_ = 0;
  MessageTag tag_;
  std::span<const std::byte> to_parent_;    // sent when the children's parts have arrived
  std::span<const std::byte> to_children_;  // sent when the parent's data has arrived
  std::vector<PendingRequest> pending_;
};

}  // namespace gangway::comm
