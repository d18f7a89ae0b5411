// SPDX-License-Identifier: MIT
#include "worker/trace/operator_trace.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <string_view>

#include <ATen/record_function.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/profiler_kineto.h>

namespace gangway::worker {
namespace {

using torch::profiler::impl::ActivityType;

constexpr std::string_view kMark = "gangway::mark";
constexpr int kMarks = 9;  // of which the one that was interrupted least counts

torch::profiler::impl::ProfilerConfig config() {
  return torch::profiler::impl::ProfilerConfig(torch::profiler::impl::ProfilerState::KINETO);
}

std::int64_t steady_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

OperatorMark mark(std::string_view side) {
  OperatorMark best;
  std::int64_t narrowest = std::numeric_limits<std::int64_t>::max();
  for (int i = 0; i < kMarks; ++i) {
    const std::string name = fmt::format("{} {} {}", kMark, side, i);
    const std::int64_t before = steady_now();
    { RECORD_USER_SCOPE(name); }
    const std::int64_t gap = steady_now() - before;
    if (gap < narrowest) {
      narrowest = gap;
      best = {.name = name, .time = before + gap / 2};
    }
  }
  return best;
}

}  // namespace

OperatorTrace::OperatorTrace() {
  torch::autograd::profiler::prepareProfiler(config(), {ActivityType::CPU});
  torch::autograd::profiler::enableProfiler(config(), {ActivityType::CPU});
  began_ = mark("begin");
}

std::vector<OperatorEvent> OperatorTrace::stop() {
  const OperatorMark ended = mark("end");
  const auto result = torch::autograd::profiler::disableProfiler();
  std::optional<std::int64_t> first;
  std::optional<std::int64_t> last;
  for (const auto& event : result->events()) {
    if (event.name() == began_.name) {
      first = static_cast<std::int64_t>(event.startNs());
    } else if (event.name() == ended.name) {
      last = static_cast<std::int64_t>(event.startNs());
    }
  }
  std::vector<OperatorEvent> events;
  if (!first || !last || *last <= *first) {
    return events;  // a wall clock that was set back by all of the trace: nothing is better
  }
  const double scale =
      static_cast<double>(ended.time - began_.time) / static_cast<double>(*last - *first);
  const auto steady = [&](std::int64_t wall) {
    return began_.time + static_cast<std::int64_t>(static_cast<double>(wall - *first) * scale);
  };
  events.reserve(result->events().size());
  for (const auto& event : result->events()) {
    if (!event.isHiddenEvent() && !event.name().starts_with(kMark)) {
      const auto begin = static_cast<std::int64_t>(event.startNs());
      events.push_back({event.name(), steady(begin),
                        steady(begin + static_cast<std::int64_t>(event.durationNs())),
                        event.startThreadId()});
    }
  }
  return events;
}

}  // namespace gangway::worker
