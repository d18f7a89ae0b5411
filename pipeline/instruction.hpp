// SPDX-License-Identifier: MIT
// One instruction of a worker's list (pipeline/schedule.hpp). No third party.
#pragma once

#include "job/models/network_id.hpp"

namespace gangway::pipeline {

enum class Operation {
  kOpenLeaf,         ///< bind zeroed gradients for one micro-batch
  kForward,          ///< an application of a network, and what of the pass comes before it
  kBackward,         ///< back through what that forward left, after all that took its output
  kPenaltyForward,   ///< first two sweeps of a penalty
  kPenaltyBackward,  ///< last two sweeps
  kRecompute,        ///< a forward once more, for the backward behind it, which kept nothing of it
  kCloseLeaf,        ///< the micro-batch's gradient is whole: add it to the worker's partials
  kArm,              ///< the phase's last backward follows: what it completes may travel at once
  kReduce,           ///< all gradients are complete: what has not left travels now; sum, agreement
                     ///< (where the phase clips), update and new weights follow by themselves
  kAwait,            ///< wait until the network's new weights are everywhere
  // Where networks are apart, of the tensors that a node makes:
  kSend,             ///< to a worker that takes them
  kReceive,          ///< from the worker that has made them
  kSendGradient,     ///< what this worker gives, back to that worker
  kReceiveGradient,  ///< what such a worker gives
};

/// What of a backward an instruction is.
enum class BackwardPart {
  kWhole,
  kInputs,   ///< gradients of what the chunk takes, which others wait for
  kWeights,  ///< those of its weights, some time behind (zero bubble, Qi et al., 2024)
};

struct Instruction {
  Operation operation = Operation::kForward;
  NetworkId network{};  ///< that computes or is updated
  int phase = 0;        ///< index into the job's phases
  int repeat = 0;       ///< n_critic position
  int pass = 0;         ///< index into the phase's passes
  int node = 0;         ///< index into the pass's nodes
  int microbatch = -1;  ///< -1 where none is meant
  /// kArm, kReduce: of the network's last update in the step.
  bool is_last_update = false;
  int peer = -1;  ///< of a send or receive
  /// What its pass has seen waits for the micro-batch's leaf, until that is closed at the latest.
  bool is_ahead = false;
  BackwardPart part = BackwardPart::kWhole;  ///< of a kBackward
  friend bool operator==(const Instruction&, const Instruction&) = default;

  [[nodiscard]] bool is_send() const {
    return operation == Operation::kSend || operation == Operation::kSendGradient;
  }
  [[nodiscard]] bool is_receive() const {
    return operation == Operation::kReceive || operation == Operation::kReceiveGradient;
  }
  /// Whether it carries a gradient to or from another worker.
  [[nodiscard]] bool carries_gradient() const {
    return operation == Operation::kSendGradient || operation == Operation::kReceiveGradient;
  }
  [[nodiscard]] bool goes_back() const {
    return operation == Operation::kBackward || operation == Operation::kPenaltyBackward;
  }
  /// Whether it computes.
  [[nodiscard]] bool is_work() const {
    return operation == Operation::kForward || operation == Operation::kPenaltyForward ||
           goes_back();
  }
  /// Whether it looks at the network's weights, or writes to gradients that its exchange reads.
  [[nodiscard]] bool uses_weights() const {
    return operation == Operation::kOpenLeaf || operation == Operation::kForward ||
           operation == Operation::kPenaltyForward || operation == Operation::kRecompute;
  }
  /// Whether it adds to the leaf of its micro-batch, if its phase trains its network.
  [[nodiscard]] bool adds() const { return goes_back() && part != BackwardPart::kInputs; }
};

}  // namespace gangway::pipeline
