// SPDX-License-Identifier: MIT
#include "bench/pipeline/emulated_figures.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

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

/// By step, the first start of any of its instructions.
std::vector<double> step_beginnings(const pipeline::StageSchedule& schedule,
                                    const std::vector<const std::vector<double>*>& starts,
                                    int first_step, std::size_t num_steps) {
  std::vector<double> beginnings(num_steps, std::numeric_limits<double>::infinity());
  for (std::size_t worker = 0; worker < starts.size(); ++worker) {
    const pipeline::StageList& list = schedule.workers[worker];
    for (std::size_t line = 0; line < list.size(); ++line) {
      double& first = beginnings[static_cast<std::size_t>(list[line].step - first_step)];
      first = std::min(first, (*starts[worker])[line]);
    }
  }
  return beginnings;
}

/// Sets both errors, in seconds.
void compare_starts(const pipeline::StageSchedule& schedule, const pipeline::Simulation& simulated,
                    const std::vector<DeviceFigures>& devices, RunFigures& figures) {
  std::vector<const std::vector<double>*> real;
  std::vector<const std::vector<double>*> expected;
  for (std::size_t worker = 0; worker < devices.size(); ++worker) {
    real.push_back(&devices[worker].starts);
    expected.push_back(&simulated.starts[worker]);
  }
  const std::size_t num_steps = simulated.step_ends.size();
  const std::vector<double> real_steps =
      step_beginnings(schedule, real, simulated.first_step, num_steps);
  const std::vector<double> expected_steps =
      step_beginnings(schedule, expected, simulated.first_step, num_steps);
  for (std::size_t worker = 0; worker < devices.size(); ++worker) {
    const pipeline::StageList& list = schedule.workers[worker];
    for (std::size_t line = 0; line < list.size(); ++line) {
      const auto step = static_cast<std::size_t>(list[line].step - simulated.first_step);
      const double late = (*real[worker])[line] - (*expected[worker])[line];
      figures.run_error = std::max(figures.run_error, std::abs(late));
      figures.start_error =
          std::max(figures.start_error, std::abs(late - (real_steps[step] - expected_steps[step])));
    }
  }
}

}  // namespace

RunFigures run_figures(const pipeline::StageSchedule& schedule,
                       const pipeline::Simulation& simulated,
                       const std::vector<DeviceFigures>& devices) {
  RunFigures figures;
  pipeline::Simulation emulated{.first_step = simulated.first_step};
  emulated.step_ends.resize(simulated.step_ends.size());
  std::int64_t received = 0;
  for (std::size_t worker = 0; worker < devices.size(); ++worker) {
    const DeviceFigures& device = devices[worker];
    const pipeline::StageList& list = schedule.workers[worker];
    for (std::size_t line = 0; line < list.size(); ++line) {
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
  compare_starts(schedule, simulated, devices, figures);
  figures.start_error /= figures.step_seconds;
  figures.run_error /= figures.step_seconds;
  return figures;
}

double median_step(const std::vector<RunFigures>& runs) {
  return sorted(runs, &RunFigures::step_seconds)[runs.size() / 2];
}

std::string header_line() {
  return fmt::format("{:<10}{:>21}{:>11}{:>11}{:>9}{:>11}{:>7}{:>8}{:>13}{:>9}{:>10}{:>9}",
                     "schedule", "step s (least)", "simulated", "bubble %", "(least)", "simulated",
                     "kept", "leaves", "starts off %", "(run)", "messages", "speed-up");
}

std::string figures_line(const std::string& name, const pipeline::Simulation& simulated,
                         const std::vector<RunFigures>& runs, double by_pass_seconds) {
  const std::vector<double> steps = sorted(runs, &RunFigures::step_seconds);
  const std::vector<double> bubbles = sorted(runs, &RunFigures::bubble);
  const std::vector<double> errors = sorted(runs, &RunFigures::start_error);
  const std::size_t middle = runs.size() / 2;
  return fmt::format(
      "{:<10}{:>12.4f} ({:.4f}){:>11.4f}{:>11.1f}{:>9}{:>11.1f}{:>7}{:>8}{:>13.1f}{:>9}{:>10}{:>9}",
      name, steps[middle], steps.front(), simulated.step_seconds(), 100.0 * bubbles[middle],
      fmt::format("({:.1f})", 100.0 * bubbles.front()), 100.0 * simulated.bubble(),
      runs.front().peak_stored, runs.front().peak_leaves, 100.0 * errors[middle],
      fmt::format("({:.1f})", 100.0 * sorted(runs, &RunFigures::run_error)[middle]),
      runs.front().messages,
      by_pass_seconds > 0.0 ? fmt::format("{:.2f}", by_pass_seconds / steps[middle]) : "");
}

}  // namespace gangway::bench
