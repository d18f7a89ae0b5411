// SPDX-License-Identifier: MIT
#include "launch/tune/trial.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/errors.hpp"
#include "report/table.hpp"

namespace gangway::launch {

using nlohmann::json;

TrialRun trial_run(std::string_view stats, std::int64_t steps) {
  TrialRun run{.steps = steps, .parts = {}};
  std::istringstream lines{std::string(stats)};
  std::int64_t before = 0;
  double counted = 0.0;
  for (std::string line; std::getline(lines, line);) {
    const json tick = json::parse(line, nullptr, false);
    if (!tick.is_object() || !tick.contains("parts")) {
      continue;
    }
    const std::int64_t step = tick.value("step", std::int64_t{0});
    if (before >= steps / 4 && step > before) {
      const auto in_tick = static_cast<double>(step - before);
      run.seconds += tick.value("seconds_tick", 0.0);
      for (const auto& [name, seconds] : tick["parts"].items()) {
        run.parts[name] += seconds.get<double>() * in_tick;
      }
      for (const auto& [name, value] : tick.items()) {
        run.numbers[name] += value.is_number() ? value.get<double>() * in_tick : 0.0;
      }
      counted += in_tick;
    }
    before = step;
  }
  if (counted <= 0.0) {
    throw EnvironmentError("a run told nothing of its steps: are all programs of one build?");
  }
  run.seconds /= counted;
  for (auto* const sums : {&run.parts, &run.numbers}) {
    for (auto& [name, sum] : *sums) {
      sum /= counted;
    }
  }
  return run;
}

double Trial::share(std::initializer_list<std::string_view> parts) const {
  const std::map<std::string, double>& all = runs.back().parts;
  double sum = 0.0;
  double chosen = 0.0;
  for (const auto& [part, taken] : all) {
    sum += taken;
    chosen += std::ranges::find(parts, part) != parts.end() ? taken : 0.0;
  }
  return sum > 0.0 ? chosen / sum : 0.0;
}

Trial joined(Trial best, const Trial& more) {
  best.name += ", " + more.name;
  best.keys.insert(best.keys.end(), more.keys.begin(), more.keys.end());
  best.workers = more.workers;
  best.fills_cache = best.fills_cache || more.fills_cache;
  best.changes_numbers = best.changes_numbers || more.changes_numbers;
  best.runs.clear();
  return best;
}

Speedup speedup_of(const RoundSeconds& before, const RoundSeconds& after) {
  constexpr auto kRounds = static_cast<double>(kProofRounds);
  // 95 %, one-sided, of four degrees of freedom (Student, 1908).
  constexpr double kQuantile = 2.132;
  RoundSeconds logs{};
  std::ranges::transform(before, after, logs.begin(),
                         [](double first, double second) { return std::log(first / second); });
  const double mean = std::accumulate(logs.begin(), logs.end(), 0.0) / kRounds;
  double squares = 0.0;
  for (const double value : logs) {
    squares += (value - mean) * (value - mean);
  }
  const double error = std::sqrt(squares / (kRounds - 1.0) / kRounds);
  return {.gain = std::exp(mean), .least = std::exp(mean - kQuantile * error)};
}

std::string parts_table(const Trial& before, const Trial& after) {
  std::map<std::string, double> first = before.runs.back().parts;
  std::map<std::string, double> second = after.runs.back().parts;
  std::set<std::string> names;
  for (const auto* parts : {&first, &second}) {
    for (const auto& [name, seconds] : *parts) {
      names.insert(name);
    }
  }
  std::vector<std::string> order(names.begin(), names.end());
  std::ranges::stable_sort(order, std::greater(), [&](const std::string& name) {
    return std::max(first[name], second[name]);
  });
  constexpr double kMilliseconds = 1e3;
  report::Table table(
      {{"ms a step, slowest worker"}, {"as typed", Align::kRight}, {"tuned", Align::kRight}});
  for (const std::string& name : order) {
    table.add_row({name, fmt::format("{:.3f}", first[name] * kMilliseconds),
                   fmt::format("{:.3f}", second[name] * kMilliseconds)});
  }
  return table.text();
}

json json_of(const Trial& trial) {
  json runs = json::array();
  for (const TrialRun& run : trial.runs) {
    runs.push_back({{"steps", run.steps}, {"step_seconds", run.seconds}, {"parts", run.parts}});
  }
  return {{"name", trial.name}, {"workers", trial.workers},
          {"keys", trial.keys}, {"changes_numbers", trial.changes_numbers},
          {"runs", runs},       {"failure", trial.failure}};
}

}  // namespace gangway::launch
