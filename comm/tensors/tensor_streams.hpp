// SPDX-License-Identifier: MIT
// Tensors between workers of one host, through its memory: copied into a ring by the sender's lane
// and out of it by the receiver's, piece by piece where a tensor is longer than the ring. What
// finds no room waits here, behind what goes to the same worker and before nothing else. Lane
// thread.
#pragma once

#include <cstddef>
#include <deque>
#include <map>

#include "comm/host/host_streams.hpp"
#include "comm/tensors/tensor_way.hpp"

namespace gangway::comm {

class TensorStreams final : public TensorWay {
 public:
  /// @param streams  outlives this
  /// @param worker   own index
  TensorStreams(HostStreams& streams, int worker) : streams_(streams), worker_(worker) {}

  void send(OutgoingTensor tensor) override;
  void expect(int peer, int count) override { incoming_[peer].expected += count; }
  bool advance(const Arrived& arrived) override;
  [[nodiscard]] std::size_t num_unsent() const override { return num_unsent_; }
  [[nodiscard]] int awaited_taker() const override;
  [[nodiscard]] bool listens() const override;

 private:
  struct Outgoing {
    OutgoingTensor tensor;
    std::size_t written = 0;  // of header and elements
  };
  /// What comes from one worker.
  struct Incoming {
    int expected = 0;
    std::size_t taken = 0;  // of header and elements of the one that comes now
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
