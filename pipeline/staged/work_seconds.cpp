// SPDX-License-Identifier: MIT
#include "pipeline/staged/work_seconds.hpp"

namespace gangway::pipeline {
namespace {

double unslowed(StageOperation operation, const WorkCosts& of) {
  switch (operation) {
    case StageOperation::kForward:
    case StageOperation::kRecompute:
      return of.forward_seconds;
    case StageOperation::kBackward:
      return of.input_gradient_seconds + of.weight_gradient_seconds;
    case StageOperation::kInputGradient:
      return of.input_gradient_seconds;
    case StageOperation::kWeightGradient:
      return of.weight_gradient_seconds;
    case StageOperation::kFirstSweep:
      return of.sweep_seconds[0];
    case StageOperation::kSecondSweep:
      return of.sweep_seconds[1];
    case StageOperation::kThirdSweep:
      return of.sweep_seconds[2];
    case StageOperation::kFourthSweep:
      return of.sweep_seconds[3];
    case StageOperation::kReduce:
      return of.update_seconds;
    case StageOperation::kOpenLeaf:
    case StageOperation::kCloseLeaf:
    case StageOperation::kArm:
    case StageOperation::kAwait:
    case StageOperation::kSend:
    case StageOperation::kReceive:
    case StageOperation::kFree:
    case StageOperation::kFlush:
      return 0.0;
  }
  return 0.0;
}

}  // namespace

double seconds_of(const StageInstruction& what, int worker, const Costs& costs) {
  if (!computes(what.operation) && what.operation != StageOperation::kReduce) {
    return 0.0;
  }
  const double seconds =
      unslowed(what.operation, costs.chunks[what.network][static_cast<std::size_t>(what.chunk)]);
  return costs.slowness.empty() ? seconds
                                : seconds * costs.slowness[static_cast<std::size_t>(worker)];
}

Link link_of(int from, int to, const Links& links) {
  if (!links.pairs.empty()) {
    if (const auto found = links.pairs.find({from, to}); found != links.pairs.end()) {
      return found->second;
    }
  }
  const bool is_within = links.host_of.empty() || links.host_of[static_cast<std::size_t>(from)] ==
                                                      links.host_of[static_cast<std::size_t>(to)];
  return is_within ? links.within : links.between;
}

}  // namespace gangway::pipeline
