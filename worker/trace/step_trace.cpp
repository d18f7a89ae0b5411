// SPDX-License-Identifier: MIT
#include "worker/trace/step_trace.hpp"

#include <filesystem>

#include "comm/transport/clock_offset.hpp"
#include "worker/trace/nvtx_range.hpp"
#include "worker/trace/step_clock.hpp"
#include "worker/trace/trace_file.hpp"

namespace gangway::worker {
namespace {

// Events per ring, some megabytes each: hundreds of steps of a small network.
constexpr std::size_t kEvents = std::size_t{1} << 16U;

}  // namespace

StepTrace::StepTrace(const StepTraceSetup& setup)
    : setup_(setup), lane_(kEvents), compute_(kEvents) {
  if (!setup_.steps.empty()) {
    transport_.emplace(setup_.transport, kEvents);
  }
}

void StepTrace::set_steps(TraceSteps steps) {
  if (!is_on()) {
    setup_.steps = steps;
    is_written_ = false;
  }
}

void StepTrace::begin() {
  began_ = comm::TraceClock::now();
  operators_.emplace(setup_.steps.detail);
  if (transport_) {
    transport_->ring().begin();
  }
  lane_.begin();
  compute_.begin();
}

void StepTrace::end() {
  compute_.end();
  const TracedOperators operators = operators_->stop();
  operators_.reset();
  comm::ClockOffset offset;
  setup_.lane.wait(setup_.lane.submit([&] {
    lane_.end();
    if (transport_) {
      transport_->ring().end();
    }
    offset = comm::offset_to_first_worker(setup_.transport, setup_.hosts, setup_.timeout);
  }));
  is_written_ = true;
  write_trace_file({.folder = std::filesystem::path(setup_.run_directory) / kTraceFolder,
                    .worker = setup_.transport.worker(),
                    .began = began_,
                    .clock = offset,
                    .phases = setup_.phases,
                    .networks = setup_.networks,
                    .compute = compute_,
                    .lane = lane_,
                    .messages = transport_ ? &transport_->ring() : nullptr,
                    .operators = operators});
}

void TracedOperations::perform(const pipeline::Instruction& instruction) {
  last_ = instruction;
  const NvtxRange range([&] { return pipeline::describe(instruction, networks_); });
  const PartScope part = in_part(instruction);
  if (trace_ == nullptr || !trace_->is_on()) {
    return operations_.perform(instruction);
  }
  ComputeEvent event{.begin = comm::TraceClock::now(),
                     .kind = ComputeEvent::Kind::kInstruction,
                     .step = step_,
                     .instruction = instruction};
  operations_.perform(instruction);
  event.end = comm::TraceClock::now();
  trace_->add(event);
}

}  // namespace gangway::worker
