// SPDX-License-Identifier: MIT
#include "pipeline/schedule.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace gangway::pipeline {
namespace {

/// Writes one step. Instructions of one micro-batch share phase, repeat, pass and micro-batch.
class Writer {
 public:
  Writer(MicrobatchRange local, Overlap overlap) : local_(local), overlap_(overlap) {}

  void write_repeat(const Phase& phase, int repeat);
  [[nodiscard]] std::vector<Instruction> take() { return std::move(list_); }

 private:
  void write_pass(PassKind pass);
  void write_leaf(const Phase& phase, int microbatch);
  /// An instruction that looks at the network's weights or writes to its gradients.
  void use(Operation operation, NetworkId network) {
    await(network);
    add(operation, network);
  }
  /// The backward that completes the gradients of the phase's network for a micro-batch and pass.
  void complete(Operation operation, NetworkId network) {
    if (is_last_ && overlap_ != Overlap::kNone) {
      add(Operation::kArm, network);
    }
    add(operation, network);
  }
  void await(NetworkId network) {
    if (under_way_[network]) {
      Instruction instruction{.operation = Operation::kAwait,
                              .network = network,
                              .phase = at_.phase,
                              .repeat = at_.repeat};
      list_.push_back(instruction);
      under_way_[network] = false;
    }
  }
  void add(Operation operation, NetworkId network) {
    Instruction instruction = at_;
    instruction.operation = operation;
    instruction.network = network;
    list_.push_back(instruction);
  }

  MicrobatchRange local_;
  Overlap overlap_;
  std::vector<Instruction> list_;
  Instruction at_;        // what the next instructions have in common
  bool is_last_ = false;  // last pass over the last local micro-batch
  // What the step before has left under way is unknown, so it is awaited at first use.
  PerNetwork<bool> under_way_ = {overlap_ == Overlap::kAcross, overlap_ == Overlap::kAcross};
};

void Writer::write_pass(PassKind pass) {
  constexpr NetworkId kG = NetworkId::kGenerator;
  constexpr NetworkId kD = NetworkId::kDiscriminator;
  switch (pass) {
    case PassKind::kReal:
      use(Operation::kForward, kD);
      complete(Operation::kBackward, kD);
      return;
    case PassKind::kFake:
    case PassKind::kRealFakePair:
      use(Operation::kForward, kG);
      use(Operation::kForward, kD);
      complete(Operation::kBackward, kD);
      return;
    case PassKind::kGradientPenalty:
      use(Operation::kForward, kG);
      [[fallthrough]];
    case PassKind::kR1:
      use(Operation::kPenaltyForward, kD);
      complete(Operation::kPenaltyBackward, kD);
      return;
    case PassKind::kGenerate:
    case PassKind::kGeneratePair:
      use(Operation::kForward, kG);
      use(Operation::kForward, kD);
      add(Operation::kBackward, kD);  // towards the images only
      complete(Operation::kBackward, kG);
      return;
  }
}

void Writer::write_leaf(const Phase& phase, int microbatch) {
  at_.microbatch = microbatch;
  at_.pass = 0;
  use(Operation::kOpenLeaf, phase.network);
  for (std::size_t pass = 0; pass < phase.passes.size(); ++pass) {
    at_.pass = static_cast<int>(pass);
    is_last_ = microbatch + 1 == local_.end && pass + 1 == phase.passes.size();
    write_pass(phase.passes[pass]);
  }
  at_.pass = 0;
  add(Operation::kCloseLeaf, phase.network);
}

void Writer::write_repeat(const Phase& phase, int repeat) {
  at_ = {.phase = phase.index, .repeat = repeat};
  for (int microbatch = local_.begin; microbatch < local_.end; ++microbatch) {
    write_leaf(phase, microbatch);
  }
  at_.microbatch = -1;
  use(Operation::kReduce, phase.network);  // a worker without micro-batches has awaited nothing yet
  under_way_[phase.network] = true;
  if (overlap_ != Overlap::kAcross) {
    await(phase.network);
  }
}

void mark_last_update(NetworkId network, std::vector<Instruction>& list) {
  const auto is_update = [network](const Instruction& one) {
    return one.network == network &&
           (one.operation == Operation::kArm || one.operation == Operation::kReduce);
  };
  const auto last = std::find_if(list.rbegin(), list.rend(), is_update);
  for (Instruction& one : list) {
    one.is_last_update = one.is_last_update ||
                         (is_update(one) && one.phase == last->phase && one.repeat == last->repeat);
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
  std::vector<Instruction> list = writer.take();
  for (const NetworkId network : kNetworkIds) {
    mark_last_update(network, list);
  }
  return list;
}

std::string describe(const Instruction& instruction) {
  static constexpr std::array kOperations = {
      "open leaf of", "forward", "backward", "penalty forward", "penalty backward", "close leaf of",
      "arm",          "reduce",  "await"};
  std::string text = kOperations.at(static_cast<std::size_t>(instruction.operation));
  text += std::string(" ") + name_of(instruction.network);
  if (instruction.microbatch >= 0) {
    text += " pass " + std::to_string(instruction.pass) + " micro-batch " +
            std::to_string(instruction.microbatch);
  }
  return text;
}

}  // namespace gangway::pipeline
