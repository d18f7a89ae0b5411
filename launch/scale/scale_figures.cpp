// SPDX-License-Identifier: MIT
#include "launch/scale/scale_figures.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/table.hpp"

namespace gangway::launch {
namespace {

/// What `varying` is multiplied by.
double regressor(ScalingKind kind, int workers) {
  return kind == ScalingKind::kStrong ? 1.0 / workers : workers - 1.0;
}

std::string ms_or_dash(std::optional<double> seconds) {
  return seconds ? fmt::format("{:.2f}", *seconds * 1e3) : "-";
}

std::string share_text(double share) { return fmt::format("{:.1f} %", share * 100.0); }

/// Of one worker's step, were nothing lost.
double ideal_seconds(ScalingKind kind, const std::vector<ScaleRow>& rows, int workers) {
  const ScaleRow& first = rows.front();
  const double one = median_of(first.steps);
  return kind == ScalingKind::kWeak ? one : one * first.workers / workers;
}

}  // namespace

double ScalingFit::seconds(ScalingKind kind, int workers) const {
  return fixed + varying * regressor(kind, workers);
}

double ScalingFit::serial_share() const {
  return fixed + varying > 0.0 ? fixed / (fixed + varying) : 1.0;
}

ScalingFit fit_scaling(ScalingKind kind, const std::vector<ScaleRow>& rows) {
  // Weighted normal equations of two unknowns; weights 1 / seconds^2.
  double w = 0.0;
  double wx = 0.0;
  double wxx = 0.0;
  double wy = 0.0;
  double wxy = 0.0;
  for (const ScaleRow& row : rows) {
    const double y = median_of(row.steps);
    const double x = regressor(kind, row.workers);
    const double weight = 1.0 / (y * y);
    w += weight;
    wx += weight * x;
    wxx += weight * x * x;
    wy += weight * y;
    wxy += weight * x * y;
  }
  const double determinant = w * wxx - wx * wx;
  if (rows.size() < 2 || !(std::abs(determinant) > 1e-12 * w * wxx)) {
    return {.fixed = wy / w};
  }
  ScalingFit fit{.fixed = (wxx * wy - wx * wxy) / determinant,
                 .varying = (w * wxy - wx * wy) / determinant};
  if (kind == ScalingKind::kStrong && fit.fixed < 0.0) {
    // More than proportionally faster: caches. Nothing is serial then.
    fit = {.fixed = 0.0, .varying = wxy / wxx};
  }
  return fit;
}

double median_of(std::vector<double> seconds) {
  if (seconds.empty()) {
    return 0.0;
  }
  std::ranges::sort(seconds);
  const std::size_t middle = seconds.size() / 2;
  return seconds.size() % 2 == 1 ? seconds[middle] : (seconds[middle - 1] + seconds[middle]) / 2.0;
}

double scatter_of(const std::vector<double>& seconds) {
  if (seconds.empty()) {
    return 0.0;
  }
  const auto [least, most] = std::ranges::minmax_element(seconds);
  return (*most - *least) / 2.0 / median_of(seconds);
}

std::string scale_text(ScalingKind kind, const std::vector<ScaleRow>& rows) {
  report::Table table({{"workers", Align::kRight},
                       {"step ms", Align::kRight},
                       {"rounds +-", Align::kRight},
                       {"images/s", Align::kRight},
                       {"predicted ms", Align::kRight},
                       {"error", Align::kRight},
                       {"ideal ms", Align::kRight},
                       {"fit ms", Align::kRight},
                       {"efficiency", Align::kRight},
                       {"apart ms", Align::kRight},
                       {"of apart", Align::kRight}});
  const ScalingFit fit = fit_scaling(kind, rows);
  for (const ScaleRow& row : rows) {
    const double seconds = median_of(row.steps);
    const double ideal = ideal_seconds(kind, rows, row.workers);
    const double ceiling = median_of(row.ceilings);
    table.add_row(
        {std::to_string(row.workers), fmt::format("{:.2f}", seconds * 1e3),
         share_text(scatter_of(row.steps)), fmt::format("{:.1f}", row.images_per_step / seconds),
         ms_or_dash(row.predicted),
         row.predicted ? fmt::format("{:+.1f} %", (*row.predicted / seconds - 1.0) * 100.0) : "-",
         fmt::format("{:.2f}", ideal * 1e3),
         fmt::format("{:.2f}", fit.seconds(kind, row.workers) * 1e3), share_text(ideal / seconds),
         row.ceilings.empty() ? "-" : fmt::format("{:.2f}", ceiling * 1e3),
         row.ceilings.empty() ? "-" : share_text(ceiling / seconds)});
  }
  const std::string conclusion =
      kind == ScalingKind::kStrong
          ? fmt::format(
                "Amdahl: {} of one worker's step is serial; no number of workers is faster "
                "than {:.1f} times one\n",
                share_text(fit.serial_share()), 1.0 / std::max(fit.serial_share(), 1e-3))
          : fmt::format("each worker more costs {:.2f} ms a step\n", fit.varying * 1e3);
  return fmt::format("{} scaling\n\n{}\n{}", kind == ScalingKind::kStrong ? "strong" : "weak",
                     table.text(), conclusion);
}

}  // namespace gangway::launch
