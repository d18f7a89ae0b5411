// SPDX-License-Identifier: MIT
// The tensors of passes that go from worker to worker where networks are apart: which ones, and by
// what names. How they go is the carrier's. Compute thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gan/torch.hpp"
#include "pipeline/pass_share.hpp"
#include "pipeline/schedule.hpp"
#include "worker/pass/tensor_carrier.hpp"

namespace gangway::worker {

class RemoteTensors {
 public:
  /// @param shares  outlives this
  RemoteTensors(const pipeline::PassShares& shares, std::unique_ptr<TensorCarrier> carrier);

  /// "through memory of the hosts", for the log.
  [[nodiscard]] std::string way() const { return carrier_->way(); }

  /// Listens for all that the instructions of a step receive. Once a step, before them.
  /// @param growth  of the networks (Job::growth_level)
  void begin_step(std::int64_t step, const std::vector<pipeline::Instruction>& schedule,
                  double growth);
  /// What of a node's tensors `at`, a send or receive, is about.
  [[nodiscard]] const pipeline::Crossing& crossing(const pipeline::Instruction& at) const;
  /// Their names in the pass, by their number.
  [[nodiscard]] std::map<int, std::string> outputs(const pipeline::Instruction& at) const;
  /// Never waits; nobody may change `tensor` until it has left. Undefined: none follows.
  void send(const pipeline::Instruction& at, int output, const at::Tensor& tensor);
  /// Waits for it.
  [[nodiscard]] at::Tensor receive(const pipeline::Instruction& at, int output);
  /// Until all that was sent has left.
  void finish() { carrier_->finish(); }
  /// For how many seconds receives waited since the last call, by phase.
  [[nodiscard]] std::map<int, double> take_waits();

 private:
  /// A list of instructions, and how far networks have grown in it: from one block to another.
  struct Known {
    std::vector<pipeline::Instruction> schedule;
    double from = 0.0;
    double to = 0.0;
    int num_performed = 0;
  };
  [[nodiscard]] Known& known_as(const std::vector<pipeline::Instruction>& schedule, double growth);
  [[nodiscard]] comm::TensorKey key(const pipeline::Instruction& at, int output) const;

  const pipeline::PassShares& shares_;
  std::unique_ptr<TensorCarrier> carrier_;
  std::deque<Known> known_;
  std::int64_t step_ = 0;
  std::map<int, double> waits_;  // seconds, by phase
};

}  // namespace gangway::worker
