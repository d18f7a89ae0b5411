// SPDX-License-Identifier: MIT
// Sends and receives the tensors of passes between workers if networks are apart: chooses the
// tensors and their keys. The carrier moves them. Compute thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gan/torch.hpp"
#include "pipeline/pass_share.hpp"
#include "pipeline/schedule.hpp"
#include "worker/pass/tensor_carrier.hpp"

namespace gangway::worker {

class RemoteTensors {
 public:
  /// @param shares  outlives this
  RemoteTensors(const pipeline::PassShares& shares, std::unique_ptr<TensorCarrier> carrier)
      : shares_(shares), carrier_(std::move(carrier)) {}

  /// "through memory of the hosts", for the log.
  [[nodiscard]] std::string way() const { return carrier_->way(); }

  /// Announces all receives of the step's instructions to the carrier. Once a step, before them.
  void begin_step(std::int64_t step, const std::vector<pipeline::Instruction>& schedule,
                  double growth);
  /// Returns the tensors of a node that the send or receive `at` moves.
  [[nodiscard]] const pipeline::Crossing& crossing(const pipeline::Instruction& at) const;
  /// Returns their names in the pass, by output number.
  [[nodiscard]] std::map<int, std::string> outputs(const pipeline::Instruction& at) const;
  /// Never waits; do not change `tensor` until it has left. Undefined: announces that none follows.
  void send(const pipeline::Instruction& at, int output, const at::Tensor& tensor);
  /// Waits for the tensor and returns it.
  [[nodiscard]] at::Tensor receive(const pipeline::Instruction& at, int output);
  /// Waits until all sent tensors have left.
  void finish() { carrier_->finish(); }
  /// Returns the seconds that receives waited since the last call, by phase.
  [[nodiscard]] std::map<int, double> take_waits() { return std::exchange(waits_, {}); }

 private:
  /// A list of instructions and the range of growth that it runs in: between two blocks.
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
