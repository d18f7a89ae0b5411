// SPDX-License-Identifier: MIT
#include "launch/tune/trial.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <numeric>
#include <set>
#include <sstream>
#include <tuple>

#include <boost/math/distributions/students_t.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/errors.hpp"
#include "report/table.hpp"

namespace gangway::launch {

using nlohmann::json;

TrialRun trial_run(std::string_view stats, std::int64_t steps) {
  TrialRun run{.steps = steps, .parts = {}};
  // A GPU's own where there is one; not each tick tells those.
  const std::string whose =
      stats.find("\"device_parts\"") == std::string_view::npos ? "parts" : "device_parts";
  double telling = 0.0;
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
      const json parts = tick.value(whose, json::object());
      telling += parts.empty() ? 0.0 : in_tick;
      for (const auto& [name, seconds] : parts.items()) {
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
  for (auto& [name, sum] : run.parts) {
    sum /= telling;
  }
  for (auto& [name, sum] : run.numbers) {
    sum /= counted;
  }
  return run;
}

double Trial::seconds() const {
  const double logs =
      std::accumulate(runs.begin(), runs.end(), 0.0,
                      [](double sum, const TrialRun& run) { return sum + std::log(run.seconds); });
  return std::exp(logs / static_cast<double>(runs.size()));
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

Speedup speedup_of(std::span<const double> before, std::span<const double> after) {
  const auto rounds = static_cast<double>(before.size());
  std::vector<double> logs(before.size());
  std::ranges::transform(before, after, logs.begin(),
                         [](double first, double second) { return std::log(first / second); });
  const double mean = std::accumulate(logs.begin(), logs.end(), 0.0) / rounds;
  double squares = 0.0;
  for (const double value : logs) {
    squares += (value - mean) * (value - mean);
  }
  const double error = std::sqrt(squares / (rounds - 1.0) / rounds);
  const double quantile = boost::math::quantile(boost::math::students_t(rounds - 1.0), 0.95);
  return {.gain = std::exp(mean), .least = std::exp(mean - quantile * error)};
}

const Trial& simplest_of_fastest(const std::vector<Trial>& trials) {
  const auto seconds_of = [](const Trial& trial) {
    std::vector<double> seconds;
    std::ranges::transform(trial.runs, std::back_inserter(seconds), &TrialRun::seconds);
    return seconds;
  };
  const std::vector<double> best =
      seconds_of(*std::ranges::min_element(trials, {}, &Trial::seconds));
  return *std::ranges::min_element(trials, {}, [&](const Trial& trial) {
    const bool is_beaten = speedup_of(seconds_of(trial), best).least > kWorthIt;
    return std::tuple(is_beaten, trial.keys.size(), trial.seconds());
  });
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

std::string so_far_text(const std::vector<Trial>& tried, const Trial& typed,
                        double images_per_step) {
  const Trial* best = nullptr;
  const Trial* before = &typed;
  std::size_t have_run = 0;
  for (const Trial& trial : tried) {
    if (trial.runs.empty() || !trial.failure.empty()) {
      continue;
    }
    if (trial.name == typed.name) {
      before = &trial;
      continue;
    }
    ++have_run;
    best = best == nullptr || trial.seconds() < best->seconds() ? &trial : best;
  }
  return best == nullptr
             ? ""
             : fmt::format(
                   "so far: of {} tried '{}' is the fastest, {:.1f} images/s beside {:.1f} as "
                   "typed; nothing is proved, and no file is written\n",
                   have_run, best->name, images_per_step / best->seconds(),
                   images_per_step / before->seconds());
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
