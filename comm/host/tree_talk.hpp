// SPDX-License-Identifier: MIT
// What all members of a group tell one of them, and what that one tells all, over a binomial tree:
// two messages a member, and log2 of their number one after another. Used by the lane's thread.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "comm/transport/deadline.hpp"
#include "comm/transport/pending.hpp"
#include "comm/transport/transport.hpp"

namespace gangway::comm {

class TreeTalk {
 public:
  /// @param peers  of `transport`, the own one among them; the first is told by all, and tells all.
  /// Equal on all members
  TreeTalk(Transport& transport, std::vector<int> peers);
  /// Among all workers of `transport`.
  explicit TreeTalk(Transport& transport);

  [[nodiscard]] bool is_first() const { return place_ == 0; }
  /// Brings the members' parts of `all` to the first. The part of the member at place p, by
  /// `begins` [n + 1], goes from begins[p] to begins[p + 1]; elsewhere only parts of those further
  /// down the tree come in. Both stay until `advance` has said that it is over.
  void gather(MessageTag tag, std::span<std::byte> all, std::span<const std::size_t> begins);
  /// Brings `what` of the first to all. @pre nothing is under way
  void tell(MessageTag tag, std::span<std::byte> what);
  /// @return whether this member has done its part. @throws CommError as Transport::done
  [[nodiscard]] bool advance();
  /// Waits for that. @param what  is talked about. @throws CommError naming a silent worker
  void finish(const Deadline& deadline, std::string_view what);
  /// What is still on its way.
  [[nodiscard]] std::span<const PendingRequest> pending() const { return pending_; }

 private:
  void send(std::size_t place, std::span<const std::byte> bytes);
  void receive(std::size_t place, std::span<std::byte> bytes);
  /// Calls `visit` with the place of each child.
  template <typename Visit>
  void for_children(const Visit& visit) const;
  [[nodiscard]] std::size_t parent() const { return place_ & (place_ - 1); }
  /// Behind the last place that is below `place` in the tree.
  [[nodiscard]] std::size_t end_below(std::size_t place) const;

  Transport& transport_;
  std::vector<int> peers_;  // by place
  std::size_t place_ = 0;
  MessageTag tag_;
  std::span<const std::byte> to_parent_;    // when the children's parts are there
  std::span<const std::byte> to_children_;  // when the parent's word is there
  std::vector<PendingRequest> pending_;
};

}  // namespace gangway::comm
