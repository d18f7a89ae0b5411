// SPDX-License-Identifier: MIT
// Sends tensors as messages. A small tensor shares its header's message. A larger tensor's elements
// are a second message, without a copy. Lane thread.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "comm/tensors/tensor_way.hpp"
#include "comm/transport/pending.hpp"
#include "comm/transport/segments.hpp"
#include "comm/transport/transport.hpp"

namespace gangway::comm {

/// Most element bytes that share the header's message: one segment, because a second message costs
/// more than copying that much (docs/measurements.md).
inline constexpr std::size_t kMostJoinedBytes = kMostSegmentBytes - sizeof(TensorHeader);

class TensorMessages final : public TensorWay {
 public:
  /// @param transport    of all workers; outlives this object
  /// @param most_joined  equal on all workers, at most kMostJoinedBytes
  explicit TensorMessages(Transport& transport, std::size_t most_joined = kMostJoinedBytes)
      : transport_(transport), most_joined_(most_joined) {}

  void send(OutgoingTensor tensor) override;
  void expect(int peer, int count) override { incoming_[peer].expected += count; }
  bool advance(const Arrived& arrived) override;
  [[nodiscard]] std::size_t num_unsent() const override { return leaving_.size(); }
  [[nodiscard]] int awaited_receiver() const override { return leaving_.front().tensor.peer; }
  [[nodiscard]] bool listens() const override;

 private:
  struct Outgoing {
    OutgoingTensor tensor;
    std::vector<std::byte> joined = {};  // header and elements of a small tensor
    std::vector<PendingRequest> requests = {};
  };
  /// The receive state for one peer.
  struct Incoming {
    int expected = 0;
    std::optional<RequestId> request;
    bool is_elements = false;       // whether `request` is for the second message
    std::vector<std::byte> joined;  // receives the header, and a small tensor's elements
    TensorHeader header;
    ReceivedTensor tensor;
  };

  [[nodiscard]] MessageTag tag() const {
    return {transport_.epoch(), 0, MessageKind::kTensor, 0, 0};
  }
  [[nodiscard]] bool is_joined(const TensorShape& shape) const {
    return shape.bytes <= most_joined_;
  }
  bool advance_receives(int peer, Incoming& incoming, const Arrived& arrived);
  /// Handles a tensor's first message. Returns true if the tensor is complete.
  [[nodiscard]] bool take_first(int peer, Incoming& incoming);

  Transport& transport_;
  std::size_t most_joined_;
  std::deque<Outgoing> leaving_;
  std::map<int, Incoming> incoming_;  // by peer
};

}  // namespace gangway::comm
