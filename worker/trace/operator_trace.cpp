// SPDX-License-Identifier: MIT
#include "worker/trace/operator_trace.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>

#include <ATen/record_function.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/profiler_kineto.h>

namespace gangway::worker {
namespace {

using torch::profiler::impl::ActivityType;
using Shapes = std::vector<std::vector<std::int64_t>>;

constexpr std::string_view kMark = "gangway::mark";
constexpr int kMarks = 9;  // the least interrupted one counts

constexpr std::string_view kMemory = "[memory]";  // Kineto's name of memory events

torch::profiler::impl::ProfilerConfig config(TraceDetail detail) {
  return torch::profiler::impl::ProfilerConfig(torch::profiler::impl::ProfilerState::KINETO,
                                               detail.shapes, detail.memory);
}

std::set<ActivityType> activities(TraceDetail detail) {
  return detail.kernels ? std::set{ActivityType::CPU, ActivityType::CUDA}
                        : std::set{ActivityType::CPU};
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

/// Charges allocations to the innermost operator that their thread was in.
void charge(const std::vector<MemoryEvent>& memory, std::vector<OperatorEvent>& operators) {
  std::ranges::sort(operators, [](const OperatorEvent& a, const OperatorEvent& b) {
    return std::tuple(a.thread, a.begin, b.end) < std::tuple(b.thread, b.begin, a.end);
  });
  std::map<std::uint64_t, std::vector<const MemoryEvent*>> by_thread;
  for (const MemoryEvent& event : memory) {
    if (event.bytes > 0) {
      by_thread[event.thread].push_back(&event);
    }
  }
  std::size_t next = 0;
  for (const auto& [thread, events] : by_thread) {
    std::vector<OperatorEvent*> around;
    for (const MemoryEvent* event : events) {
      while (next < operators.size() &&
             (operators[next].thread < thread ||
              (operators[next].thread == thread && operators[next].begin <= event->time))) {
        if (operators[next].thread == thread) {
          around.push_back(&operators[next]);
        }
        ++next;
      }
      // Ended operators can be dropped: enclosing ones began earlier and end later.
      while (!around.empty() && around.back()->end < event->time) {
        around.pop_back();
      }
      if (!around.empty()) {
        around.back()->allocated += event->bytes;
      }
    }
  }
}

}  // namespace

OperatorTrace::OperatorTrace(TraceDetail detail) {
  torch::autograd::profiler::prepareProfiler(config(detail), activities(detail));
  torch::autograd::profiler::enableProfiler(config(detail), activities(detail));
  began_ = mark("begin");
}

TracedOperators OperatorTrace::stop() {
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
  TracedOperators traced;
  if (!first || !last || *last <= *first) {
    return traced;  // wall clock set back by the whole trace
  }
  const double scale =
      static_cast<double>(ended.time - began_.time) / static_cast<double>(*last - *first);
  const auto steady = [&](std::int64_t wall) {
    return began_.time + static_cast<std::int64_t>(static_cast<double>(wall - *first) * scale);
  };
  for (const auto& event : result->events()) {
    const auto begin = static_cast<std::int64_t>(event.startNs());
    const bool is_on_device = event.deviceType() != c10::DeviceType::CPU;
    if (event.name() == kMemory) {
      traced.memory.push_back({.time = steady(begin),
                               .bytes = event.nBytes(),
                               .thread = event.startThreadId(),
                               .is_on_device = is_on_device});
    } else if (!event.isHiddenEvent() && !event.name().starts_with(kMark)) {
      (is_on_device ? traced.kernels : traced.operators)
          .push_back({.name = event.name(),
                      .begin = steady(begin),
                      .end = steady(begin + static_cast<std::int64_t>(event.durationNs())),
                      .thread = is_on_device ? static_cast<std::uint64_t>(event.deviceResourceId())
                                             : event.startThreadId(),
                      .shapes = event.hasShapes() ? event.shapes().vec() : Shapes{}});
    }
  }
  std::ranges::stable_sort(traced.memory, {}, &MemoryEvent::time);
  charge(traced.memory, traced.operators);
  return traced;
}

}  // namespace gangway::worker
