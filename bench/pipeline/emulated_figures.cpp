// SPDX-License-Identifier: MIT
#include "bench/pipeline/emulated_figures.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/errors.hpp"

namespace gangway::bench {
namespace {

template <class Member>
auto sorted(const std::vector<RunFigures>& runs, Member member) {
  std::vector<double> values;
  for (const RunFigures& run : runs) {
    values.push_back(run.*member);
  }
  std::ranges::sort(values);
  return values;
}

}  // namespace

RunFigures run_figures(const pipeline::StageSchedule& schedule,
                       const pipeline::Simulation& simulated,
                       const std::vector<DeviceFigures>& devices) {
  RunFigures figures;
  pipeline::Simulation emulated{.first_step = simulated.first_step};
  emulated.step_ends.resize(simulated.step_ends.size());
  double late = 0.0;
  std::int64_t received = 0;
  for (std::size_t worker = 0; worker < devices.size(); ++worker) {
    const DeviceFigures& device = devices[worker];
    const pipeline::StageList& list = schedule.workers[worker];
    for (std::size_t line = 0; line < list.size(); ++line) {
      late = std::max(late, std::abs(device.starts[line] - simulated.starts[worker][line]));
      if (list[line].operation == pipeline::StageOperation::kReduce) {
        double& end =
            emulated.step_ends[static_cast<std::size_t>(list[line].step - emulated.first_step)];
        end = std::max(end, line + 1 < list.size() ? device.starts[line + 1] : device.end);
      }
    }
    emulated.workers.push_back({.busy_seconds = device.busy_seconds});
    emulated.seconds = std::max(emulated.seconds, device.end);
    figures.peak_stored = std::max(figures.peak_stored, device.peak_stored);
    figures.peak_leaves = std::max(figures.peak_leaves, device.peak_leaves);
    figures.messages += device.sent;
    received += device.received;
  }
  if (received != figures.messages) {
    throw InvariantError(fmt::format("{} messages were sent and {} received; please report this",
                                     figures.messages, received));
  }
  figures.step_seconds = emulated.step_seconds();
  figures.bubble = emulated.bubble();
  figures.start_error = late / figures.step_seconds;
  return figures;
}

double median_step(const std::vector<RunFigures>& runs) {
  return sorted(runs, &RunFigures::step_seconds)[runs.size() / 2];
}

std::string header_line() {
  return fmt::format("{:<10}{:>21}{:>11}{:>11}{:>9}{:>11}{:>7}{:>8}{:>13}{:>10}{:>9}", "schedule",
                     "step s (least)", "simulated", "bubble %", "(least)", "simulated", "kept",
                     "leaves", "starts off %", "messages", "speed-up");
}

std::string figures_line(const std::string& name, const pipeline::Simulation& simulated,
                         const std::vector<RunFigures>& runs, double by_pass_seconds) {
  const std::vector<double> steps = sorted(runs, &RunFigures::step_seconds);
  const std::vector<double> bubbles = sorted(runs, &RunFigures::bubble);
  const std::vector<double> errors = sorted(runs, &RunFigures::start_error);
  const std::size_t middle = runs.size() / 2;
  return fmt::format(
      "{:<10}{:>12.4f} ({:.4f}){:>11.4f}{:>11.1f}{:>9}{:>11.1f}{:>7}{:>8}{:>13.1f}{:>10}{:>9}",
      name, steps[middle], steps.front(), simulated.step_seconds(), 100.0 * bubbles[middle],
      fmt::format("({:.1f})", 100.0 * bubbles.front()), 100.0 * simulated.bubble(),
      runs.front().peak_stored, runs.front().peak_leaves, 100.0 * errors[middle],
      runs.front().messages,
      by_pass_seconds > 0.0 ? fmt::format("{:.2f}", by_pass_seconds / steps[middle]) : "");
}

}  // namespace gangway::bench
