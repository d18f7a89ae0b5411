// SPDX-License-Identifier: MIT
#include "bench/command/overlap_figures.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/errors.hpp"
#include "base/units.hpp"

namespace gangway::bench {
namespace {

struct TickFigures {
  std::int64_t step = 0;
  double seconds = 0.0;
  double exposed_percent = 0.0;
  double sent_mib = 0.0;
};

TickFigures figures_in(std::string_view line) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  const auto number = [&](const char* key) {
    if (!json.is_object() || !json.contains(key) || !json[key].is_number()) {
      throw EnvironmentError(
          fmt::format("stats.jsonl: a line without {}: are all programs of one build?", key));
    }
    return json[key].get<double>();
  };
  return {.step = static_cast<std::int64_t>(number("step")),
          .seconds = number("seconds_tick"),
          .exposed_percent = number("exposed_percent"),
          .sent_mib = number("sent_mib_per_step")};
}

double middle_of(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2.0;
}

}  // namespace

StepFigures step_figures(std::string_view stats, std::int64_t warmup_steps) {
  std::vector<double> step_seconds;
  StepFigures figures;
  double steps = 0.0;
  std::int64_t before = 0;
  while (!stats.empty()) {
    const std::size_t end = std::min(stats.find('\n'), stats.size());
    const TickFigures tick = figures_in(stats.substr(0, end));
    stats.remove_prefix(std::min(end + 1, stats.size()));
    if (before >= warmup_steps && tick.step > before) {
      const auto in_tick = static_cast<double>(tick.step - before);
      step_seconds.push_back(tick.seconds / in_tick);
      figures.exposed_seconds += tick.seconds * tick.exposed_percent / 100.0;
      figures.sent_bytes += tick.sent_mib * kMebibyte * in_tick;
      steps += in_tick;
    }
    before = tick.step;
  }
  if (step_seconds.empty()) {
    throw EnvironmentError("the runs are too short to measure: use more --steps");
  }
  figures.seconds = middle_of(step_seconds);
  figures.exposed_seconds /= steps;
  figures.sent_bytes /= steps;
  return figures;
}

}  // namespace gangway::bench
