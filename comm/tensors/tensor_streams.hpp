// SPDX-License-Identifier: MIT
// Sends tensors between workers of one host through a ring in shared memory. The sender's lane
// copies in, the receiver's lane copies out; longer tensors go piece by piece. A tensor without
// room waits in the queue of its peer and delays no other peer. Lane thread.
#pragma once

#include <cstddef>
#include <deque>
#include <map>

#include "comm/host/host_streams.hpp"
#include "comm/tensors/tensor_way.hpp"

namespace gangway::comm {

class TensorStreams final : public TensorWay {
 public:
  /// @param streams  outlives this object
  /// @param worker   this worker's index
  TensorStreams(HostStreams& streams, int worker) : streams_(streams), worker_(worker) {}

  void send(OutgoingTensor tensor) override;
  void expect(int peer, int count) override { incoming_[peer].expected += count; }
  bool advance(const Arrived& arrived) override;
  [[nodiscard]] std::size_t num_unsent() const override { return num_unsent_; }
  [[nodiscard]] int awaited_receiver() const override;
  [[nodiscard]] bool listens() const override;

 private:
  struct Outgoing {
    OutgoingTensor tensor;
    std::size_t written = 0;  // bytes of header and elements
  };
  /// The receive state for one peer.
  struct Incoming {
    int expected = 0;
    std::size_t taken = 0;  // bytes of header and elements of the current tensor
    TensorHeader header;
    ReceivedTensor tensor;
  };

  bool advance_sends(int peer, std::deque<Outgoing>& leaving);
  bool advance_receives(int peer, Incoming& incoming, const Arrived& arrived);

  HostStreams& streams_;
  int worker_;
  std::map<int, std::deque<Outgoing>> leaving_;  // by peer
  std::map<int, Incoming> incoming_;             // by peer
  std::size_t num_unsent_ = 0;
};

}  // namespace gangway::comm
