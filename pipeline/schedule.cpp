// SPDX-License-Identifier: MIT
#include "pipeline/schedule.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <ranges>
#include <set>
#include <utility>

namespace gangway::pipeline {
namespace {

/// Adds a kArm before the last backward of each network that its phase trains.
std::vector<Instruction> armed(const std::vector<Phase>& phases,
                               const std::vector<Instruction>& list) {
  std::vector<Instruction> result;
  std::set<NetworkId> waiting;  // in reverse: exchanges whose last backward is still to come
  for (auto one = list.rbegin(); one != list.rend(); ++one) {
    result.push_back(*one);
    if (one->operation == Operation::kReduce) {
      waiting.insert(one->network);
    } else if (one->adds() && trains(phases[static_cast<std::size_t>(one->phase)], one->network) &&
               waiting.erase(one->network) > 0) {
      result.push_back(*one);
      result.back().operation = Operation::kArm;
    }
  }
  std::ranges::reverse(result);
  return result;
}

void mark_last_updates(std::vector<Instruction>& list) {
  std::map<NetworkId, std::pair<int, int>> last;  // phase and repeat
  for (Instruction& one : list | std::views::reverse) {
    if (one.operation == Operation::kArm || one.operation == Operation::kReduce) {
      const std::pair place(one.phase, one.repeat);
      one.is_last_update = last.emplace(one.network, place).first->second == place;
    }
  }
}

/// Whether the node is an application with a gradient whose output no other phase reuses.
bool can_be_recomputed(const std::vector<Phase>& phases, const Instruction& at) {
  const Pass& pass =
      phases[static_cast<std::size_t>(at.phase)].passes[static_cast<std::size_t>(at.pass)];
  const auto node = static_cast<std::size_t>(at.node);
  const int taken_up = std::max(pass.recall ? pass.recall->nodes : 0, nodes_to_keep(phases, at));
  return std::holds_alternative<Application>(pass.nodes[node]) && pass.has_gradient[node] &&
         at.node >= taken_up;
}

}  // namespace

int nodes_to_keep(const std::vector<Phase>& phases, const Instruction& at) {
  const bool is_last = at.repeat + 1 == phases[static_cast<std::size_t>(at.phase)].repeats;
  return is_last ? nodes_taken_up(phases, at.phase, at.pass) : 0;
}

std::vector<Instruction> with_recomputes(const std::vector<Phase>& phases,
                                         const std::vector<Instruction>& list) {
  std::vector<Instruction> result;
  for (Instruction one : list) {
    const bool is_backward = one.operation == Operation::kBackward;
    one.is_recomputed =
        (is_backward || one.operation == Operation::kForward) && can_be_recomputed(phases, one);
    if (one.is_recomputed && is_backward && one.part != BackwardPart::kWeights) {
      result.push_back(one);
      result.back().operation = Operation::kRecompute;
      result.back().part = BackwardPart::kWhole;
    }
    result.push_back(one);
  }
  return result;
}

std::vector<Instruction> with_updates_marked(const std::vector<Phase>& phases,
                                             std::vector<Instruction> list, Overlap overlap) {
  if (overlap != Overlap::kNone) {
    list = armed(phases, list);
  }
  mark_last_updates(list);
  return list;
}

std::string describe(const Instruction& instruction, const PerNetwork<std::string>& networks) {
  static constexpr std::array kOperations = {
      "open leaf of", "forward",       "backward",      "penalty forward",  "penalty backward",
      "recompute",    "close leaf of", "arm",           "reduce",           "await",
      "send",         "receive",       "send gradient", "receive gradient", "play"};
  std::string text = kOperations.at(static_cast<std::size_t>(instruction.operation));
  if (instruction.operation == Operation::kPlay) {
    return text + " recording " + std::to_string(instruction.stretch);
  }
  text += instruction.part == BackwardPart::kInputs    ? " to inputs of"
          : instruction.part == BackwardPart::kWeights ? " to weights of"
                                                       : "";
  text += " " + (instruction.peer < 0 ? networks[instruction.network]
                                      : "rank " + std::to_string(instruction.peer + 1));
  if (instruction.microbatch >= 0) {
    text += " pass " + std::to_string(instruction.pass) + " micro-batch " +
            std::to_string(instruction.microbatch);
  }
  return text;
}

}  // namespace gangway::pipeline
