// SPDX-License-Identifier: MIT
#include "worker/trace/step_clock.hpp"

#include <algorithm>
#include <ctime>
#include <utility>

#include <sys/resource.h>

namespace gangway::worker {
namespace {

using messages::NetworkPart;
using messages::StepPart;
using pipeline::Operation;

std::size_t part_of(const pipeline::Instruction& instruction) {
  const auto network = static_cast<std::size_t>(instruction.network);
  switch (instruction.operation) {
    case Operation::kForward:
    case Operation::kRecompute:
      return messages::index_of(NetworkPart::kForward, network);
    case Operation::kBackward:
      return messages::index_of(NetworkPart::kBackward, network);
    case Operation::kPenaltyForward:
    case Operation::kPenaltyBackward:
      return messages::index_of(NetworkPart::kPenalty, network);
    case Operation::kOpenLeaf:
    case Operation::kCloseLeaf:
      return messages::index_of(StepPart::kLeaves);
    case Operation::kArm:
    case Operation::kReduce:
    case Operation::kAwait:
      return messages::index_of(StepPart::kExchange);
    case Operation::kSend:
    case Operation::kSendGradient:
      return messages::index_of(StepPart::kTensorSend);
    case Operation::kReceive:
    case Operation::kReceiveGradient:
      return messages::index_of(StepPart::kTensors);
    case Operation::kPlay:
      return messages::index_of(StepPart::kRecorded);
  }
  return messages::index_of(StepPart::kOther);
}

}  // namespace

PartScope in_part(const pipeline::Instruction& instruction) {
  return PartScope(part_of(instruction));
}

void StepClock::begin() {
  ledger_.begin(messages::index_of(StepPart::kOther));
  last_sums_ = ledger_.read();
  last_usage_ = usage();
}

StepClock::Usage StepClock::usage() {
  const auto seconds_of = [](clockid_t clock) {
    timespec time{};
    (void)clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  rusage counts{};
  (void)getrusage(RUSAGE_THREAD, &counts);
  return {.core_seconds = seconds_of(CLOCK_THREAD_CPUTIME_ID),
          .process_seconds = seconds_of(CLOCK_PROCESS_CPUTIME_ID),
          .preemptions = static_cast<std::uint64_t>(counts.ru_nivcsw),
          .major_faults = static_cast<std::uint64_t>(counts.ru_majflt)};
}

messages::StepFigures StepClock::take() {
  const TimeLedger::Nanoseconds now = ledger_.read();
  const TimeLedger::Nanoseconds before = std::exchange(last_sums_, now);
  const Usage used = usage();
  const Usage used_before = std::exchange(last_usage_, used);
  messages::StepFigures figures{.core_seconds = used.core_seconds - used_before.core_seconds,
                                .preemptions = used.preemptions - used_before.preemptions,
                                .major_faults = used.major_faults - used_before.major_faults};
  const double process = used.process_seconds - used_before.process_seconds;
  figures.other_core_seconds = std::max(0.0, process - figures.core_seconds);
  for (std::size_t part = 0; part < num_parts_; ++part) {
    figures.parts.push_back(1e-9 * static_cast<double>(now[part] - before[part]));
  }
  return figures;
}

}  // namespace gangway::worker
