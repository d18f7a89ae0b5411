// SPDX-License-Identifier: MIT
#include "launch/rates/range_figures.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/errors.hpp"
#include "report/table.hpp"

namespace gangway::launch {
namespace {

// Of a test's steps that a mean is over: 0.2 of the six decades that are usual.
constexpr std::size_t kWindows = 30;
constexpr double kLeastFall = 0.01;  // of the loss, within a window: below it is chance

/// A fading mean, without the pull of the zero that it begins with (Kingma and Ba, 2015, section
/// 3).
std::vector<double> smoothed(const std::vector<double>& losses, std::size_t window) {
  const double kept = 1.0 - 1.0 / static_cast<double>(window);
  std::vector<double> means;
  double sum = 0.0;
  double weight = 0.0;
  for (const double loss : losses) {
    sum = kept * sum + (1.0 - kept) * loss;
    weight = kept * weight + (1.0 - kept);
    means.push_back(sum / weight);
  }
  return means;
}

/// The first step at which a loss is above its best by so many times its size; how many steps there
/// are if none is.
std::size_t step_above_best(const std::vector<double>& losses, double times) {
  double best = losses.empty() ? 0.0 : losses.front();
  for (std::size_t step = 0; step < losses.size(); ++step) {
    best = std::min(best, losses[step]);
    const double size = std::max(std::abs(best), std::abs(losses.front()));
    if (!std::isfinite(losses[step]) || losses[step] > best + times * size) {
      return step;
    }
  }
  return losses.size();
}

std::optional<RangePoint> divergence(const RangeCurve& curve, std::optional<double> at_end) {
  std::optional<RangePoint> first;
  for (const RangeCurve::Network& network : curve.networks) {
    const std::size_t step = step_above_best(network.losses, kExploded);
    if (step < network.losses.size() && (!first || step < first->step)) {
      first = RangePoint{network.name, step, curve.rates[step]};
    }
  }
  if (!first && at_end) {
    first = RangePoint{"", curve.rates.size(), *at_end};
  }
  return first;
}

/// Where `network` falls fastest by the logarithm of the rate, before step `end`.
std::optional<RangePoint> steepest_fall(const RangeCurve& curve, const RangeCurve::Network& network,
                                        std::size_t end) {
  std::optional<RangePoint> found;
  double steepest = network.losses.empty() ? 0.0 : -kLeastFall * std::abs(network.losses.front());
  // Rates rise by equal factors, so a step is as long as any other in the logarithm. Before the
  // mean is one, and over fewer steps than it remembers, a fall is chance.
  for (std::size_t step = 2 * curve.window; step < end; ++step) {
    const double slope = network.losses[step] - network.losses[step - curve.window];
    if (slope < steepest) {
      const std::size_t middle = step - curve.window / 2;
      steepest = slope;
      found = RangePoint{network.name, middle, curve.rates[middle]};
    }
  }
  return found;
}

/// A network whose loss has suffered when the rate comes to `rate`, other than the one whose loss
/// speaks for it.
std::optional<RangePoint> suffering_at(const RangeCurve& curve, double rate,
                                       const std::string& spoken_for) {
  for (const RangeCurve::Network& network : curve.networks) {
    const std::size_t step = step_above_best(network.losses, kSuffers);
    if (network.name != spoken_for && step < network.losses.size() && curve.rates[step] <= rate) {
      return RangePoint{network.name, step, curve.rates[step]};
    }
  }
  return std::nullopt;
}

std::string rate_text(double rate) { return fmt::format("{:.2g}", rate); }

std::string suggestion_text(const RangeVerdict& verdict) {
  constexpr const char* kCaveat =
      "try it and lower ones: a test is short, and one adversary's loss falls because the other "
      "loses";
  if (verdict.suffers) {
    return fmt::format(
        "suggested lr: none, from lr {} on (step {}) the {}'s loss is {:g} times its size above "
        "its best; find each network's alone, with --network",
        rate_text(verdict.suffers->rate), verdict.suffers->step + 1, verdict.suffers->network,
        kSuffers);
  }
  if (verdict.suggested <= 0.0) {
    return "suggested lr: none, no loss falls; use more --steps or a larger --to";
  }
  const std::string what = verdict.bound
                               ? fmt::format("1/{:g} of where the {}'s loss falls fastest",
                                             kBelowSteepest, verdict.bound->network)
                               : fmt::format("1/{:g} of where it diverges", kBelowDivergence);
  return fmt::format("suggested lr: {}, {}; {}", rate_text(verdict.suggested), what, kCaveat);
}

}  // namespace

RangeCurve range_curve(std::string_view stats, const std::vector<std::string>& names,
                       const std::vector<double>& rates) {
  std::vector<std::vector<double>> losses(names.size());
  std::size_t steps = 0;
  while (!stats.empty()) {
    const std::size_t end = std::min(stats.find('\n'), stats.size());
    const auto tick = nlohmann::json::parse(stats.substr(0, end), nullptr, false);
    stats.remove_prefix(std::min(end + 1, stats.size()));
    ++steps;
    if (!tick.is_object() || tick.value("step", std::size_t{0}) != steps || steps > rates.size()) {
      throw EnvironmentError(fmt::format(
          "stats.jsonl: line {} is not of step {}: are all programs of one build?", steps, steps));
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto loss = tick.find(names[i] + "_loss");
      if (loss != tick.end() && loss->is_number()) {
        losses[i].push_back(loss->get<double>());
      }
    }
  }
  RangeCurve curve{.rates = {rates.begin(), rates.begin() + static_cast<std::ptrdiff_t>(steps)},
                   .networks = {},
                   .window = std::max<std::size_t>(1, rates.size() / kWindows)};
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (losses[i].size() == steps && steps > 0) {
      curve.networks.push_back({names[i], smoothed(losses[i], curve.window)});
    }
  }
  return curve;
}

RangeVerdict judge_range(const RangeCurve& curve, const std::vector<std::string>& tested,
                         std::optional<double> diverged_rate) {
  RangeVerdict verdict{.diverged = divergence(curve, diverged_rate), .steepest = {}};
  const std::size_t end = verdict.diverged ? verdict.diverged->step : curve.rates.size();
  for (const RangeCurve::Network& network : curve.networks) {
    const auto fall = std::ranges::find(tested, network.name) == tested.end()
                          ? std::nullopt
                          : steepest_fall(curve, network, end);
    if (fall) {
      verdict.steepest.push_back(*fall);
    }
  }
  double suggested = verdict.diverged ? verdict.diverged->rate / kBelowDivergence : 0.0;
  if (!verdict.steepest.empty()) {
    const RangePoint lowest = *std::ranges::min_element(verdict.steepest, {}, &RangePoint::rate);
    if (!verdict.diverged || lowest.rate / kBelowSteepest < suggested) {
      suggested = lowest.rate / kBelowSteepest;
      verdict.bound = lowest;
    }
  }
  verdict.suffers = suffering_at(curve, suggested, verdict.bound ? verdict.bound->network : "");
  verdict.suggested = verdict.suffers ? 0.0 : suggested;
  return verdict;
}

std::string range_table(const RangeCurve& curve, std::size_t rows) {
  std::vector<report::Column> columns{{"lr", Align::kRight}, {"step", Align::kRight}};
  for (const RangeCurve::Network& network : curve.networks) {
    columns.push_back({fmt::format("{} loss", network.name), Align::kRight});
  }
  report::Table table(columns);
  const std::size_t stride =
      std::max<std::size_t>(1, curve.rates.size() / std::max<std::size_t>(rows, 1));
  for (std::size_t step = 0; step < curve.rates.size(); step += stride) {
    std::vector<std::string> cells{fmt::format("{:.2e}", curve.rates[step]),
                                   std::to_string(step + 1)};
    for (const RangeCurve::Network& network : curve.networks) {
      cells.push_back(fmt::format("{:.4g}", network.losses[step]));
    }
    table.add_row(std::move(cells));
  }
  return table.text();
}

std::string range_verdict_text(const RangeVerdict& verdict, double last_rate) {
  std::string text;
  if (!verdict.diverged) {
    text += fmt::format("no loss explodes up to lr {}; a larger --to finds where one does\n",
                        rate_text(last_rate));
  } else if (verdict.diverged->network.empty()) {
    text += fmt::format("diverges at lr {} (step {}): a loss or a weight is not finite\n",
                        rate_text(verdict.diverged->rate), verdict.diverged->step + 1);
  } else {
    text += fmt::format("diverges at lr {} (step {}): the {}'s loss explodes\n",
                        rate_text(verdict.diverged->rate), verdict.diverged->step + 1,
                        verdict.diverged->network);
  }
  for (const RangePoint& fall : verdict.steepest) {
    text += fmt::format("the {}'s loss falls fastest at lr {} (step {})\n", fall.network,
                        rate_text(fall.rate), fall.step + 1);
  }
  return text + suggestion_text(verdict) + "\n";
}

}  // namespace gangway::launch
