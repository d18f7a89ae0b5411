// SPDX-License-Identifier: MIT
// What a worker does where networks are cut into chunks or lie on different workers, as data. The
// one-stage list (pipeline/schedule.hpp) has a type of its own: most of what is named here goes
// without saying there, and its executor need not know what it never meets.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "job/models/network_id.hpp"

namespace gangway::pipeline {

enum class StageOperation : std::uint8_t {
  kOpenLeaf,        ///< bind zeroed gradients of the chunk for one micro-batch
  kForward,         ///< the chunk's part of an application
  kRecompute,       ///< forward once more, of what it was given, to have what backward needs
  kBackward,        ///< input and weight gradients together
  kInputGradient,   ///< the gradient that goes on to what comes before
  kWeightGradient,  ///< of a chunk whose input gradient is done: into the micro-batch's leaf
  kFirstSweep,      ///< of a penalty (gan/losses/penalty.hpp), through the chunks: up
  kSecondSweep,     ///< down
  kThirdSweep,      ///< up; adds to the leaf
  kFourthSweep,     ///< down; adds to the leaf
  kCloseLeaf,       ///< the micro-batch's gradient is whole: add it to the worker's partials
  kArm,      ///< the phase's last work on the chunk's leaves follows: what it completes may travel
  kReduce,   ///< all gradients of the chunk are complete; sum, update and new weights follow by
             ///< themselves, with all that have the chunk
  kAwait,    ///< wait until the chunk's new weights are everywhere
  kSend,     ///< a tensor that is here to `peer`; never waits
  kReceive,  ///< wait for the next tensor from `peer`
  kFree,     ///< let go of a tensor that was made here or received
  kFlush,    ///< wait until every worker has come here
};
inline constexpr int kNumStageOperations = 18;

/// An instruction. Members that an operation has no use for are 0, microbatch and peer -1.
struct StageInstruction {
  StageOperation operation = StageOperation::kForward;
  StageOperation made_by = StageOperation::kForward;  ///< kSend, kReceive, kFree: what made it
  bool keeps = false;    ///< forward, recompute, first sweep: what its backward needs stays
  bool lets_go = false;  ///< the last work on what a forward kept
  bool is_last = false;  ///< kArm, kReduce: of the network's updates in the step
  NetworkId network{};
  int chunk = 0;
  int step = 0;
  int phase = 0;
  int repeat = 0;
  int pass = 0;
  int node = 0;
  int microbatch = -1;
  /// Updates of the network that the weights have seen, from step 0 on; kReduce: before it; kAwait:
  /// behind it.
  int version = 0;
  int peer = -1;           ///< a worker
  std::int64_t bytes = 0;  ///< of a message
  friend bool operator==(const StageInstruction&, const StageInstruction&) = default;
};

using StageList = std::vector<StageInstruction>;

/// What all workers do.
struct StageSchedule {
  std::vector<StageList> workers;
  bool operator==(const StageSchedule&) const = default;
};

/// "input-gradient", as the text form has it.
[[nodiscard]] std::string_view name_of(StageOperation operation);

/// Whether it computes something of a micro-batch.
[[nodiscard]] constexpr bool computes(StageOperation operation) {
  return operation >= StageOperation::kForward && operation <= StageOperation::kFourthSweep;
}

/// Whether it adds to a leaf, where the phase trains the network.
[[nodiscard]] constexpr bool adds_to_leaf(StageOperation operation) {
  return operation == StageOperation::kBackward || operation == StageOperation::kWeightGradient ||
         operation == StageOperation::kThirdSweep || operation == StageOperation::kFourthSweep;
}

}  // namespace gangway::pipeline
