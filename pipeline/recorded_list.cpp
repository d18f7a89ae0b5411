// SPDX-License-Identifier: MIT
#include "pipeline/recorded_list.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace gangway::pipeline {
namespace {

/// The index in `schedule` at which the exchange of `reduce` begins.
std::size_t beginning_of(const Instruction& reduce, const std::vector<Instruction>& schedule) {
  const auto arm = std::ranges::find_if(schedule, [&](const Instruction& one) {
    return one.operation == Operation::kArm && one.network == reduce.network &&
           one.phase == reduce.phase && one.repeat == reduce.repeat;
  });
  return static_cast<std::size_t>(arm - schedule.begin());
}

/// Whether no other exchange begins in the same repeat of its phase.
bool is_alone(const Instruction& arm, const std::vector<Instruction>& schedule) {
  return std::ranges::none_of(schedule, [&](const Instruction& one) {
    return one.operation == Operation::kReduce && one.phase == arm.phase &&
           one.repeat == arm.repeat && one.network != arm.network;
  });
}

}  // namespace

std::vector<Instruction> unarmed(const std::vector<Instruction>& schedule, Armed kept) {
  std::vector<Instruction> result;
  std::vector<std::vector<Instruction>> reduces;  // consecutive reduces, each with its await
  const auto write_reduces = [&] {
    std::ranges::stable_sort(reduces, {}, [&](const std::vector<Instruction>& one) {
      return beginning_of(one.front(), schedule);
    });
    for (const std::vector<Instruction>& one : std::exchange(reduces, {})) {
      result.insert(result.end(), one.begin(), one.end());
    }
  };
  for (const Instruction& instruction : schedule) {
    if (instruction.operation == Operation::kReduce) {
      reduces.push_back({instruction});
    } else if (instruction.operation == Operation::kAwait && !reduces.empty() &&
               reduces.back().front().network == instruction.network) {
      reduces.back().push_back(instruction);
    } else if (instruction.operation != Operation::kArm ||
               (kept == Armed::kAlone && is_alone(instruction, schedule))) {
      write_reduces();
      result.push_back(instruction);
    }
  }
  write_reduces();
  return result;
}

RecordedList recorded(const std::vector<Instruction>& schedule, Armed kept, Stretches stretches) {
  RecordedList result;
  for (const Instruction& one : unarmed(schedule, kept)) {
    if (one.operation == Operation::kReduce || one.operation == Operation::kAwait) {
      result.list.push_back(one);
      continue;
    }
    const bool begins = result.list.empty() || result.list.back().operation != Operation::kPlay ||
                        (stretches == Stretches::kByCall && one.operation == Operation::kForward);
    if (begins) {
      result.list.push_back({.operation = Operation::kPlay,
                             .network = one.network,
                             .phase = one.phase,
                             .repeat = one.repeat,
                             .stretch = static_cast<int>(result.stretches.size())});
      result.stretches.emplace_back();
    }
    result.stretches.back().push_back(one);
  }
  return result;
}

}  // namespace gangway::pipeline
