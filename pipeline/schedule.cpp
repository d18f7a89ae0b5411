// SPDX-License-Identifier: MIT
#include "pipeline/schedule.hpp"

#include <array>

namespace gangway::pipeline {
namespace {

/// Appends instructions that share phase, repeat, pass and micro-batch.
struct Writer {
  std::vector<Instruction>& list;
  Instruction at = {};  // what the next instructions have in common

  void add(Operation operation, NetworkId network) {
    Instruction instruction = at;
    instruction.operation = operation;
    instruction.network = network;
    list.push_back(instruction);
  }
};

void write_pass(Writer& writer, PassKind pass) {
  constexpr NetworkId kG = NetworkId::kGenerator;
  constexpr NetworkId kD = NetworkId::kDiscriminator;
  switch (pass) {
    case PassKind::kReal:
      writer.add(Operation::kForward, kD);
      writer.add(Operation::kBackward, kD);
      return;
    case PassKind::kFake:
    case PassKind::kRealFakePair:
      writer.add(Operation::kForward, kG);
      writer.add(Operation::kForward, kD);
      writer.add(Operation::kBackward, kD);
      return;
    case PassKind::kGradientPenalty:
      writer.add(Operation::kForward, kG);
      [[fallthrough]];
    case PassKind::kR1:
      writer.add(Operation::kPenaltyForward, kD);
      writer.add(Operation::kPenaltyBackward, kD);
      return;
    case PassKind::kGenerate:
    case PassKind::kGeneratePair:
      writer.add(Operation::kForward, kG);
      writer.add(Operation::kForward, kD);
      writer.add(Operation::kBackward, kD);  // towards the images only
      writer.add(Operation::kBackward, kG);
      return;
  }
}

void write_repeat(Writer& writer, const Phase& phase, LocalMicrobatches local) {
  for (int microbatch = local.begin; microbatch < local.end; ++microbatch) {
    writer.at.microbatch = microbatch;
    writer.at.pass = 0;
    writer.add(Operation::kOpenLeaf, phase.network);
    for (std::size_t pass = 0; pass < phase.passes.size(); ++pass) {
      writer.at.pass = static_cast<int>(pass);
      write_pass(writer, phase.passes[pass]);
    }
    writer.at.pass = 0;
    writer.add(Operation::kCloseLeaf, phase.network);
  }
  writer.at.microbatch = -1;
  writer.add(Operation::kReduce, phase.network);
  if (phase.clip_norm > 0.0) {
    writer.add(Operation::kAgree, phase.network);
  }
  writer.add(Operation::kUpdate, phase.network);
}

}  // namespace

std::vector<Instruction> one_stage_schedule(const std::vector<Phase>& phases,
                                            LocalMicrobatches local, std::int64_t step) {
  std::vector<Instruction> list;
  Writer writer{list};
  for (const Phase& phase : phases) {
    if (!runs_in(phase, step)) {
      continue;
    }
    writer.at.phase = phase.index;
    for (writer.at.repeat = 0; writer.at.repeat < phase.repeats; ++writer.at.repeat) {
      write_repeat(writer, phase, local);
    }
  }
  return list;
}

std::string describe(const Instruction& instruction) {
  static constexpr std::array kOperations = {"open leaf of",    "forward",          "backward",
                                             "penalty forward", "penalty backward", "close leaf of",
                                             "reduce",          "agree on",         "update"};
  std::string text = kOperations.at(static_cast<std::size_t>(instruction.operation));
  text += instruction.network == NetworkId::kGenerator ? " generator" : " discriminator";
  if (instruction.microbatch >= 0) {
    text += " pass " + std::to_string(instruction.pass) + " micro-batch " +
            std::to_string(instruction.microbatch);
  }
  return text;
}

}  // namespace gangway::pipeline
