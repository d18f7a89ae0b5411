// SPDX-License-Identifier: MIT
#include "plan/stages/held_bytes.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace gangway::plan {
namespace {

using pipeline::Instruction;
using pipeline::Operation;

/// Identifies a micro-batch's pass. Inputs and tensors without a graph stay until its end.
auto pass_of(const Instruction& at) {
  return std::tuple(at.phase, at.repeat, at.pass, at.microbatch);
}

bool is_of_a_pass(const Instruction& at) {
  return at.microbatch >= 0 && at.operation != Operation::kOpenLeaf &&
         at.operation != Operation::kCloseLeaf;
}

}  // namespace

std::int64_t most_held_bytes(const std::vector<Instruction>& list, const BlockCosts::Table& costs) {
  std::map<decltype(pass_of(Instruction{})), std::size_t> last;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (is_of_a_pass(list[i])) {
      last[pass_of(list[i])] = i;
    }
  }
  std::map<decltype(pass_of(Instruction{})), std::int64_t> until_its_end;
  std::int64_t held = 0;
  std::int64_t most = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Instruction& at = list[i];
    if (!is_of_a_pass(at)) {
      continue;
    }
    const NodeCost& node = node_of(costs, at);
    const bool is_kept = node.kept_bytes > 0 && !at.is_recomputed;
    // Count twice: the allocator seldom reuses the first forward's gaps between kept tensors (a
    // worker with a prediction of 356 MiB, counted once, needed 383).
    const std::int64_t inside = at.is_recomputed ? 2 * node.kept_bytes : 0;
    switch (at.operation) {
      case Operation::kForward:
      case Operation::kPenaltyForward:
        most = std::max(most, held + inside);
        held += is_kept ? node.kept_bytes : node.output_bytes;
        until_its_end[pass_of(at)] += is_kept ? 0 : node.output_bytes;
        break;
      case Operation::kRecompute:
        held += inside;
        break;
      case Operation::kReceive:
      case Operation::kReceiveGradient:
        held += node.output_bytes;
        until_its_end[pass_of(at)] += node.output_bytes;
        break;
      default:
        break;
    }
    most = std::max(most, held);
    if (at.goes_back() && at.part != pipeline::BackwardPart::kInputs) {
      held -= is_kept ? node.kept_bytes : inside;
    }
    if (last.at(pass_of(at)) == i) {
      held -= until_its_end[pass_of(at)];
    }
  }
  return most;
}

}  // namespace gangway::plan
