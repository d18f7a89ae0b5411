// SPDX-License-Identifier: MIT
// Traces one worker for `--trace A:B`, or `gangway trace` of a running job (docs/tuning.md): turns
// the recorders on for the steps [A, B) and then writes trace/rank<R>.pt.trace.json. Compute
// thread; the lane writes its own rings.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "comm/lane.hpp"
#include "comm/transport/trace.hpp"
#include "comm/transport/traced_transport.hpp"
#include "pipeline/executor.hpp"
#include "pipeline/phases.hpp"
#include "run/trace_steps.hpp"
#include "worker/trace/compute_trace.hpp"
#include "worker/trace/operator_trace.hpp"

namespace gangway::worker {

struct StepTraceSetup {
  TraceSteps steps;  ///< of `--trace`
  std::string run_directory;
  comm::Transport& transport;
  comm::Lane& lane;
  std::vector<int> hosts;  ///< by worker
  std::chrono::milliseconds timeout{60'000};
  const std::vector<pipeline::Phase>& phases;
  PerNetwork<std::string> networks;  ///< names
};

class StepTrace {
 public:
  explicit StepTrace(const StepTraceSetup& setup);

  /// Returns the transport to use instead of StepTraceSetup::transport. It records messages only
  /// for
  /// `--trace`: for later traces it records none, so that it costs nothing before.
  [[nodiscard]] comm::Transport& transport() {
    return transport_ ? static_cast<comm::Transport&>(*transport_) : setup_.transport;
  }
  /// Sets other steps, unless a recording is on.
  void set_steps(TraceSteps steps);
  [[nodiscard]] comm::LaneTrace& lane() { return lane_; }
  [[nodiscard]] ComputeTrace& compute() { return compute_; }

  [[nodiscard]] bool is_on() const { return compute_.is_on(); }
  /// Returns whether recording begins before `step`.
  [[nodiscard]] bool begins_at(std::int64_t step) const {
    return !is_written_ && !is_on() && step >= setup_.steps.begin && step < setup_.steps.end;
  }
  /// Returns whether recording ends after `steps_done` steps.
  [[nodiscard]] bool ends_at(std::int64_t steps_done) const {
    return is_on() && steps_done >= setup_.steps.end;
  }
  void begin();
  /// Ends recording and writes the file. All workers call it together.
  /// @pre no exchange is under way
  /// @throws EnvironmentError (disk), CommError
  void end();

 private:
  StepTraceSetup setup_;
  std::optional<comm::TracedTransport> transport_;
  comm::LaneTrace lane_;
  ComputeTrace compute_;
  std::optional<OperatorTrace> operators_;  ///< while recording
  comm::TraceClock::time_point began_;
  bool is_written_ = false;
};

/// Wraps operations: marks each instruction for the thread's ledger and NVIDIA's profilers (NVTX),
/// and records its time in a trace. Remembers the last one, for the report of a failure.
class TracedOperations final : public pipeline::Operations {
 public:
  /// @param networks  names
  /// @param trace     null: none
  TracedOperations(pipeline::Operations& operations, PerNetwork<std::string> networks,
                   ComputeTrace* trace)
      : operations_(operations), networks_(std::move(networks)), trace_(trace) {}
  void begin_step(std::int64_t step) { step_ = step; }
  void perform(const pipeline::Instruction& instruction) override;
  /// The instruction that was performed last, or that failed.
  [[nodiscard]] const pipeline::Instruction& last() const { return last_; }

 private:
  pipeline::Operations& operations_;
  PerNetwork<std::string> networks_;
  ComputeTrace* trace_;
  std::int64_t step_ = 0;
  pipeline::Instruction last_;
};

}  // namespace gangway::worker
