// SPDX-License-Identifier: MIT
// Tensors as messages. A small one is in its header's message; a larger one's elements are a
// message of their own, from where they lie to where they will. Lane thread.
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

/// The most bytes of elements that go in their header's message: what one segment holds, for a
/// second message costs more than copying that much (docs/measurements.md).
inline constexpr std::size_t kMostJoinedBytes = kMostSegmentBytes - sizeof(TensorHeader);

class TensorMessages final : public TensorWay {
 public:
  /// @param transport    of all workers; outlives this
  /// @param most_joined  equal on all workers, at most kMostJoinedBytes
  explicit TensorMessages(Transport& transport, std::size_t most_joined = kMostJoinedBytes)
      : transport_(transport), most_joined_(most_joined) {}

  void send(OutgoingTensor tensor) override;
  void expect(int peer, int count) override { incoming_[peer].expected += count; }
  bool advance(const Arrived& arrived) override;
  [[nodiscard]] std::size_t num_unsent() const override { return leaving_.size(); }
  [[nodiscard]] int awaited_taker() const override { return leaving_.front().tensor.peer; }
  [[nodiscard]] bool listens() const override;

 private:
  struct Outgoing {
    OutgoingTensor tensor;
    std::vector<std::byte> joined = {};  // header and elements of a small one
    std::vector<PendingRequest> requests = {};
  };
  /// What comes from one worker.
  struct Incoming {
    int expected = 0;
    std::optional<RequestId> request;
    bool is_elements = false;       // `request` is for
    std::vector<std::byte> joined;  // where the header comes, and the elements of a small one
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
  /// The first message of a tensor is here. True: it was all of it.
  [[nodiscard]] bool take_first(int peer, Incoming& incoming);

  Transport& transport_;
  std::size_t most_joined_;
  std::deque<Outgoing> leaving_;
  std::map<int, Incoming> incoming_;  // by peer
};

}  // namespace gangway::comm
