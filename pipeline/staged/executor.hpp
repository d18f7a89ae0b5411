// SPDX-License-Identifier: MIT
// Runs a worker's list of instructions, in order. What an instruction does is somebody else's: an
// emulated device's (bench/pipeline/), or a worker's. Nothing here waits or knows tensors.
#pragma once

#include <cstddef>

#include "pipeline/staged/instruction.hpp"

namespace gangway::pipeline {

/// What a list asks of the device that runs it. Each is called on the thread of execute(), in the
/// order of the list; one that waits has a deadline of its own and throws behind it.
class StageOperations {
 public:
  virtual ~StageOperations() = default;

  /// Called before each instruction. @param line  of the list, from 0
  virtual void begin(std::size_t line, const StageInstruction& what) = 0;

  virtual void compute(const StageInstruction& what) = 0;  ///< forward … fourth sweep
  virtual void open_leaf(const StageInstruction& what) = 0;
  virtual void close_leaf(const StageInstruction& what) = 0;
  virtual void arm(const StageInstruction& what) = 0;
  virtual void reduce(const StageInstruction& what) = 0;   ///< never waits for others
  virtual void await(const StageInstruction& what) = 0;    ///< waits for new weights
  virtual void send(const StageInstruction& what) = 0;     ///< never waits
  virtual void receive(const StageInstruction& what) = 0;  ///< waits
  virtual void free(const StageInstruction& what) = 0;
  virtual void flush(const StageInstruction& what) = 0;  ///< waits for all workers
};

/// One instruction, by its kind.
inline void perform(const StageInstruction& what, StageOperations& operations) {
  switch (what.operation) {
    case StageOperation::kOpenLeaf:
      return operations.open_leaf(what);
    case StageOperation::kForward:
    case StageOperation::kRecompute:
    case StageOperation::kBackward:
    case StageOperation::kInputGradient:
    case StageOperation::kWeightGradient:
    case StageOperation::kFirstSweep:
    case StageOperation::kSecondSweep:
    case StageOperation::kThirdSweep:
    case StageOperation::kFourthSweep:
      return operations.compute(what);
    case StageOperation::kCloseLeaf:
      return operations.close_leaf(what);
    case StageOperation::kArm:
      return operations.arm(what);
    case StageOperation::kReduce:
      return operations.reduce(what);
    case StageOperation::kAwait:
      return operations.await(what);
    case StageOperation::kSend:
      return operations.send(what);
    case StageOperation::kReceive:
      return operations.receive(what);
    case StageOperation::kFree:
      return operations.free(what);
    case StageOperation::kFlush:
      return operations.flush(what);
  }
}

/// All of `list`. Exceptions of an operation pass through.
inline void execute(const StageList& list, StageOperations& operations) {
  for (std::size_t line = 0; line < list.size(); ++line) {
    operations.begin(line, list[line]);
    perform(list[line], operations);
  }
}

}  // namespace gangway::pipeline
