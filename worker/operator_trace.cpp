// SPDX-License-Identifier: MIT
#include "worker/operator_trace.hpp"

#include <chrono>

#include <torch/csrc/autograd/profiler_kineto.h>

namespace gangway::worker {
namespace {

using torch::profiler::impl::ActivityType;

torch::profiler::impl::ProfilerConfig config() {
  return torch::profiler::impl::ProfilerConfig(torch::profiler::impl::ProfilerState::KINETO);
}

std::int64_t nanoseconds(auto time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

/// What to add to Kineto's wall-clock times.
std::int64_t steady_minus_wall() {
  const std::int64_t before = nanoseconds(std::chrono::steady_clock::now());
  const std::int64_t wall = nanoseconds(std::chrono::system_clock::now());
  const std::int64_t after = nanoseconds(std::chrono::steady_clock::now());
  return before + (after - before) / 2 - wall;
}

}  // namespace

void start_operator_trace() {
  torch::autograd::profiler::prepareProfiler(config(), {ActivityType::CPU});
  torch::autograd::profiler::enableProfiler(config(), {ActivityType::CPU});
}

std::vector<OperatorEvent> stop_operator_trace() {
  const auto result = torch::autograd::profiler::disableProfiler();
  const std::int64_t offset = steady_minus_wall();
  std::vector<OperatorEvent> events;
  events.reserve(result->events().size());
  for (const auto& event : result->events()) {
    if (!event.isHiddenEvent()) {
      const auto begin = static_cast<std::int64_t>(event.startNs()) + offset;
      events.push_back({event.name(), begin, begin + static_cast<std::int64_t>(event.durationNs()),
                        event.startThreadId()});
    }
  }
  return events;
}

}  // namespace gangway::worker
