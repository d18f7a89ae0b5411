// SPDX-License-Identifier: MIT
// The tensors of passes that go from worker to worker where networks are apart. What is received
// has the sender's type, sizes and strides: another order in memory gives other bits. Compute
// thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "comm/tensors/tensor_channel.hpp"
#include "gan/torch.hpp"
#include "pipeline/pass_share.hpp"
#include "pipeline/schedule.hpp"

namespace gangway::worker {

class RemoteTensors {
 public:
  /// @param shares  outlives this
  RemoteTensors(const pipeline::PassShares& shares, comm::Transport& transport, comm::Lane& lane,
                comm::TensorChannel::Setup setup);

  /// Listens for all that the instructions of a step receive. Once a step, before them.
  void begin_step(std::int64_t step, const std::vector<pipeline::Instruction>& schedule);
  /// What of a node's tensors `at`, a send or receive, is about.
  [[nodiscard]] const pipeline::Crossing& crossing(const pipeline::Instruction& at) const;
  /// Their names in the pass, by their number.
  [[nodiscard]] std::map<int, std::string> outputs(const pipeline::Instruction& at) const;
  /// Never waits; nobody may change `tensor` until it has left. Undefined: none follows.
  void send(const pipeline::Instruction& at, int output, const at::Tensor& tensor);
  /// Waits for it.
  [[nodiscard]] at::Tensor receive(const pipeline::Instruction& at, int output);
  /// Until all that was sent has left.
  void finish() { channel_.finish_sending(); }
  /// For how many seconds receives waited since the last call, by phase.
  [[nodiscard]] std::map<int, double> take_waits();

 private:
  [[nodiscard]] comm::TensorKey key(const pipeline::Instruction& at, int output) const;

  const pipeline::PassShares& shares_;
  comm::TensorChannel channel_;
  std::int64_t step_ = 0;
  std::map<int, double> waits_;  // seconds, by phase
};

}  // namespace gangway::worker
