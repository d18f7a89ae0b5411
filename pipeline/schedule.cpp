// SPDX-License-Identifier: MIT
#include "pipeline/schedule.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <ranges>
#include <set>
#include <utility>

#include "pipeline/list_writer.hpp"

namespace gangway::pipeline {
namespace {

/// Writes one step. Instructions of one micro-batch share phase, repeat, pass and micro-batch.
class Writer : public ListWriter {
 public:
  Writer(MicrobatchRange local, Overlap overlap) : ListWriter(overlap), local_(local) {}

  void write_repeat(const Phase& phase, int repeat);

 private:
  void write_leaves(const Phase& phase, int microbatch);
  void write_forward(const Pass& pass);
  void write_backward(const Pass& pass);

  MicrobatchRange local_;
};

void Writer::write_forward(const Pass& pass) {
  for (at_.node = 0; at_.node < static_cast<int>(pass.nodes.size()); ++at_.node) {
    const Node& node = pass.nodes[static_cast<std::size_t>(at_.node)];
    if (const auto* application = std::get_if<Application>(&node)) {
      use(Operation::kForward, application->network);
    } else if (const auto* penalty = std::get_if<Penalty>(&node)) {
      use(Operation::kPenaltyForward, penalty->network);
    }
  }
}

void Writer::write_backward(const Pass& pass) {
  for (at_.node = static_cast<int>(pass.nodes.size()); at_.node-- > 0;) {
    const auto index = static_cast<std::size_t>(at_.node);
    if (const auto* penalty = std::get_if<Penalty>(&pass.nodes[index])) {
      add(Operation::kPenaltyBackward, penalty->network);
    } else if (const auto* application = std::get_if<Application>(&pass.nodes[index]);
               application != nullptr && pass.has_gradient[index]) {
      add(Operation::kBackward, application->network);
    }
  }
  at_.node = 0;
}

void Writer::write_leaves(const Phase& phase, int microbatch) {
  at_.microbatch = microbatch;
  at_.pass = 0;
  for (const NetworkId network : phase.networks) {
    use(Operation::kOpenLeaf, network);
  }
  for (const Pass& pass : phase.passes) {
    write_forward(pass);
    write_backward(pass);
    ++at_.pass;
  }
  at_.pass = 0;
  for (const NetworkId network : phase.networks) {
    add(Operation::kCloseLeaf, network);
  }
}

void Writer::write_repeat(const Phase& phase, int repeat) {
  at_ = {.phase = phase.index, .repeat = repeat};
  for (int microbatch = local_.begin; microbatch < local_.end; ++microbatch) {
    write_leaves(phase, microbatch);
  }
  at_.microbatch = -1;
  for (const NetworkId network : phase.networks) {
    // A worker without micro-batches has awaited nothing yet.
    use(Operation::kReduce, network);
    under_way(network) = true;
    if (overlap_ != Overlap::kAcross) {
      await(network);
    }
  }
}

/// Puts an arming before each last backward of a network that its phase trains.
std::vector<Instruction> armed(const std::vector<Phase>& phases,
                               const std::vector<Instruction>& list) {
  std::vector<Instruction> result;
  std::set<NetworkId> waiting;  // from behind: for the backward before their exchange
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

}  // namespace

std::vector<Instruction> one_stage_schedule(const std::vector<Phase>& phases, MicrobatchRange local,
                                            std::int64_t step, Overlap overlap) {
  Writer writer(local, overlap);
  for (const Phase& phase : phases) {
    for (int repeat = 0; runs_in(phase, step) && repeat < phase.repeats; ++repeat) {
      writer.write_repeat(phase, repeat);
    }
  }
  return with_updates_marked(phases, writer.take(), overlap);
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
      "open leaf of",  "forward",       "backward",        "penalty forward", "penalty backward",
      "close leaf of", "arm",           "reduce",          "await",           "send",
      "receive",       "send gradient", "receive gradient"};
  std::string text = kOperations.at(static_cast<std::size_t>(instruction.operation));
  text += instruction.part == BackwardPart::kInputs    ? " to inputs of"
          : instruction.part == BackwardPart::kWeights ? " to weights of"
                                                       : "";
  text += " " + (instruction.peer < 0 ? networks[instruction.network]
                                      : "worker " + std::to_string(instruction.peer));
  if (instruction.microbatch >= 0) {
    text += " pass " + std::to_string(instruction.pass) + " micro-batch " +
            std::to_string(instruction.microbatch);
  }
  return text;
}

}  // namespace gangway::pipeline
