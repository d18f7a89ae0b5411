// SPDX-License-Identifier: MIT
#include "worker/trace/operator_trace.hpp"

#include <chrono>
#include <limits>

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

/// What to add to Kineto's wall-clock times: of some readings the one that was interrupted least.
std::int64_t steady_minus_wall() {
  constexpr int kReadings = 25;
  std::int64_t narrowest = std::numeric_limits<std::int64_t>::max();
  std::int64_t offset = 0;
  for (int i = 0; i < kReadings; ++i) {
    const std::int64_t before = nanoseconds(std::chrono::steady_clock::now());
    const std::int64_t wall = nanoseconds(std::chrono::system_clock::now());
    const std::int64_t gap = nanoseconds(std::chrono::steady_clock::now()) - before;
    if (gap < narrowest) {
      narrowest = gap;
      offset = before + gap / 2 - wall;
    }
  }
  return offset;
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
