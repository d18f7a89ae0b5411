// SPDX-License-Identifier: MIT
// Defines one instruction of a worker's list (pipeline/schedule.hpp). No third party.
#pragma once

#include "job/models/network_id.hpp"

namespace gangway::pipeline {

enum class Operation {
  kOpenLeaf,         ///< binds zeroed gradients for one micro-batch
  kForward,          ///< a network's application, and the pass's nodes that it needs
  kBackward,         ///< backward of that forward, after all takers of its output
  kPenaltyForward,   ///< first two sweeps of a penalty
  kPenaltyBackward,  ///< last two sweeps
  kRecompute,        ///< repeats a forward whose activations were dropped, before its backward
  kCloseLeaf,        ///< adds the micro-batch's complete gradient to the worker's partials
  kArm,              ///< before the phase's last backward: its gradients may leave early
  kReduce,           ///< all gradients are complete: the rest leaves now; sum, agreement
                     ///< (if the phase clips), update and new weights follow
  kAwait,            ///< waits until every worker has the network's new weights
  // If networks are apart, for the tensors that a node makes:
  kSend,             ///< to a worker that takes them
  kReceive,          ///< from the worker that made them
  kSendGradient,     ///< this worker's gradient, to the worker that made the tensor
  kReceiveGradient,  ///< a taker's gradient, on the worker that made the tensor
  kPlay,             ///< replays a recorded stretch of instructions (pipeline/recorded_list.hpp)
};

/// The part of a backward that an instruction computes.
enum class BackwardPart {
  kWhole,
  kInputs,   ///< gradients of the chunk's inputs, which other workers wait for
  kWeights,  ///< gradients of its weights, later (zero bubble, Qi et al., 2024)
};

struct Instruction {
  Operation operation = Operation::kForward;
  NetworkId network{};  ///< the network that computes or is updated
  int phase = 0;        ///< index into the job's phases
  int repeat = 0;       ///< n_critic position
  int pass = 0;         ///< index into the phase's passes
  int node = 0;         ///< index into the pass's nodes
  int microbatch = -1;  ///< -1: no micro-batch
  /// For kArm and kReduce: whether it is the network's last update in the step.
  bool is_last_update = false;
  int peer = -1;  ///< the other worker of a send or receive
  /// Whether the pass's harvested statistics wait for the micro-batch's leaf, until it closes.
  bool is_ahead = false;
  BackwardPart part = BackwardPart::kWhole;  ///< for kBackward
  /// For kForward, kRecompute and kBackward: the forward's activations are dropped, and the node's
  /// kRecompute makes them again before its backward (layout.recompute).
  bool is_recomputed = false;
  int stretch = -1;  ///< for kPlay: index into RecordedList::stretches
  friend bool operator==(const Instruction&, const Instruction&) = default;

  [[nodiscard]] bool is_send() const {
    return operation == Operation::kSend || operation == Operation::kSendGradient;
  }
  [[nodiscard]] bool is_receive() const {
    return operation == Operation::kReceive || operation == Operation::kReceiveGradient;
  }
  /// Whether it sends or receives a gradient.
  [[nodiscard]] bool carries_gradient() const {
    return operation == Operation::kSendGradient || operation == Operation::kReceiveGradient;
  }
  [[nodiscard]] bool goes_back() const {
    return operation == Operation::kBackward || operation == Operation::kPenaltyBackward;
  }
  /// Whether it is a computation.
  [[nodiscard]] bool is_work() const {
    return operation == Operation::kForward || operation == Operation::kPenaltyForward ||
           goes_back();
  }
  /// Whether it reads the network's weights, or writes gradients that its exchange reads.
  [[nodiscard]] bool uses_weights() const {
    return operation == Operation::kOpenLeaf || operation == Operation::kForward ||
           operation == Operation::kPenaltyForward || operation == Operation::kRecompute;
  }
  /// Whether it adds to its micro-batch's leaf, if its phase trains its network.
  [[nodiscard]] bool adds() const { return goes_back() && part != BackwardPart::kInputs; }
};

}  // namespace gangway::pipeline
