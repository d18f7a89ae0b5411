// SPDX-License-Identifier: MIT
#include "report/advice/advice.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <sstream>

#include <fmt/format.h>

#include "report/advice/rules.hpp"

namespace gangway::report {
namespace {

using nlohmann::json;

constexpr std::size_t kTicks = 4;
constexpr std::ptrdiff_t kEnough = 3;
/// Limits the estimated gain to 20, because above this share it depends on a tiny rest.
constexpr double kMostSaved = 0.95;

double mean(const std::deque<double>& values) {
  return values.empty() ? 0.0
                        : std::accumulate(values.begin(), values.end(), 0.0) /
                              static_cast<double>(values.size());
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), std::istream_iterator<std::string>()};
}

void push(std::deque<double>& values, double value) {
  values.push_back(value);
  if (values.size() > kTicks) {
    values.pop_front();
  }
}

}  // namespace

nlohmann::json json_of(const Advice& advice) {
  return {{"rule", advice.rule},
          {"evidence", advice.evidence},
          {"keys", advice.keys},
          {"remedy", advice.remedy},
          {"gain", advice.gain},
          {"changes_numbers", advice.changes_numbers},
          {"needs_restart", advice.needs_restart}};
}

std::string advice_line(const Advice& advice) {
  const bool is_most = advice.gain >= 1.0 / (1.0 - kMostSaved);
  return fmt::format("{}: {}: {} ({}{}; {})", advice.rule, advice.evidence, advice.remedy,
                     advice.gain > 1.0 ? fmt::format("about {:.2f} times as fast{}; ", advice.gain,
                                                     is_most ? " or more" : "")
                                       : "",
                     advice.changes_numbers ? "other numbers: for a new job" : "the same numbers",
                     advice.needs_restart ? "from the next start on" : "at once");
}

std::vector<Advice> AdviceTracker::add(const json& tick) {
  growth_.add(tick);
  json with_growth = tick;
  with_growth[kMemoryGrowth] = growth_.gib_per_hour();
  const StepFacts facts(with_growth, keys_);
  if (facts.step_seconds() <= 0.0) {
    return {};
  }
  push(computing_, facts.computing());
  std::vector<Advice> added;
  const auto look = [&](const Rule& rule) {
    Watched& watched = watched_[std::string(rule.name)];
    push(watched.shares, rule.share(facts));
    const auto at_least = [&](double share) {
      return std::ranges::count_if(watched.shares, [&](double one) { return one >= share; });
    };
    const auto seen = static_cast<std::ptrdiff_t>(watched.shares.size());
    const bool was_on = watched.is_on;
    if (!was_on) {
      watched.is_on = at_least(rule.threshold) >= kEnough;
    } else if (seen - at_least(rule.threshold / 2.0) >= kEnough) {
      watched.is_on = false;
    }
    if (watched.is_on && watched.shares.back() > 0.0) {
      const double saved = std::min(kMostSaved, watched.shares.back());
      const std::string keys = rule.keys != nullptr ? rule.keys(facts) : std::string();
      const std::string words = rule.remedy != nullptr ? rule.remedy(facts) : std::string();
      watched.advice = {.rule = std::string(rule.name),
                        .evidence = rule.evidence(facts),
                        .keys = words_of(keys),
                        .remedy = keys + (keys.empty() || words.empty() ? "" : ", ") + words,
                        .gain = rule.is_saved ? 1.0 / (1.0 - saved) : 1.0,
                        .changes_numbers = rule.changes_numbers,
                        .needs_restart = rule.needs_restart};
    }
    if (watched.is_on && !was_on) {
      added.push_back(watched.advice);
    }
  };
  std::ranges::for_each(step_rules(), look);
  std::ranges::for_each(machine_rules(), look);
  return added;
}

std::vector<Advice> AdviceTracker::current() const {
  std::vector<Advice> all;
  for (const auto& [rule, watched] : watched_) {
    if (watched.is_on) {
      all.push_back(watched.advice);
    }
  }
  std::ranges::stable_sort(all, std::greater(), &Advice::gain);
  return all;
}

double AdviceTracker::computing() const { return mean(computing_); }

}  // namespace gangway::report
