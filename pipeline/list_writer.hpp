// SPDX-License-Identifier: MIT
// What writers of a worker's list of instructions have in common: an instruction that looks at a
// network's weights comes behind the wait for them, where an exchange is under way.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "job/spec.hpp"
#include "pipeline/instruction.hpp"
#include "pipeline/pass_share.hpp"

namespace gangway::pipeline {

class ListWriter {
 public:
  explicit ListWriter(Overlap overlap) : overlap_(overlap) {}
  [[nodiscard]] std::vector<Instruction> take() { return std::move(list_); }

 protected:
  /// An instruction that looks at the network's weights or writes to its gradients.
  void use(Operation operation, NetworkId network) {
    await(network);
    add(operation, network);
  }
  void await(NetworkId network) {
    if (under_way(network)) {
      list_.push_back({.operation = Operation::kAwait,
                       .network = network,
                       .phase = at_.phase,
                       .repeat = at_.repeat});
      under_way(network) = false;
    }
  }
  /// Whether an exchange is. What the step before has left is unknown, so it is awaited at first
  /// use.
  bool& under_way(NetworkId network) {
    return under_way_.try_emplace(network, overlap_ == Overlap::kAcross).first->second;
  }
  void add(Operation operation, NetworkId network) {
    Instruction instruction = at_;
    instruction.operation = operation;
    instruction.network = network;
    list_.push_back(instruction);
  }
  /// Of the pass at hand, to or from the crossing's peer.
  void cross(Operation operation, const Crossing& crossing) {
    at_.node = crossing.node;
    at_.peer = crossing.peer;
    add(operation, {});
    at_.peer = -1;
  }

  Overlap overlap_;
  std::vector<Instruction> list_;
  Instruction at_;  // what the next instructions have in common

 private:
  std::map<NetworkId, bool> under_way_;  // as far as the step has come to them
};

}  // namespace gangway::pipeline
