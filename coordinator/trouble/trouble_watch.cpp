// SPDX-License-Identifier: MIT
#include "coordinator/trouble/trouble_watch.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace gangway::coordinator {
namespace {

/// Of an even count the upper median, because median_of() would change recorded runs' decisions.
double upper_median_of(const std::deque<double>& values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  return sorted[sorted.size() / 2];
}

}  // namespace

TroubleWatch::TroubleWatch(const DivergenceSpec& spec, std::vector<WatchedNetwork> networks)
    : spec_(spec), networks_(std::move(networks)), seen_(networks_.size()) {}

bool TroubleWatch::remembers() const {
  return spec_.loss_factor > 0.0 || spec_.diversity > 0.0 ||
         (spec_.saturated_ticks > 0 && spec_.saturation_is_trouble) ||
         std::ranges::any_of(seen_, [](const SeenFigures& seen) { return seen.beyond > 0; });
}

std::optional<Trouble> TroubleWatch::step(std::int64_t step, std::span<const double> losses) {
  std::optional<Trouble> trouble;
  for (std::size_t i = 0; i < std::min(losses.size(), seen_.size()); ++i) {
    for (auto& found : {beside_median(step, i, losses[i]), beyond_bound(step, i, losses[i])}) {
      if (!trouble) {
        trouble = found;
      }
    }
  }
  return trouble;
}

std::optional<Trouble> TroubleWatch::beside_median(std::int64_t step, std::size_t network,
                                                   double loss) {
  if (spec_.loss_factor <= 0.0) {
    return std::nullopt;
  }
  std::deque<double>& sizes = seen_[network].sizes;
  const double size = std::abs(loss);
  const double median = sizes.size() < kLeastSteps ? 0.0 : upper_median_of(sizes);
  std::optional<Trouble> trouble;
  if (median > 0.0 && size > spec_.loss_factor * median) {
    trouble = Trouble{
        step, fmt::format("step {}: the {}'s loss is {:.4g}, {:.3g} times the median of the last "
                          "{} steps' (training.divergence.loss_factor {}): lower its lr, or set "
                          "clip_norm",
                          step, networks_[network].name, loss, size / median, sizes.size(),
                          spec_.loss_factor)};
  }
  sizes.push_back(size);
  if (sizes.size() > kMedianSteps) {
    sizes.pop_front();
  }
  return trouble;
}

std::optional<Trouble> TroubleWatch::beyond_bound(std::int64_t step, std::size_t network,
                                                  double loss) {
  const double bound = networks_[network].loss_bound;
  if (bound <= 0.0) {
    return std::nullopt;
  }
  std::int64_t& beyond = seen_[network].beyond;
  beyond = std::abs(loss) > bound ? beyond + 1 : 0;
  if (beyond != kBeyondSteps) {
    return std::nullopt;
  }
  // Reports the first of these steps, because the state after it is not worth going back to.
  return Trouble{
      step - kBeyondSteps + 1,
      fmt::format("step {}: diverged: the {}'s loss is {:.4g}, and has been above {:g} "
                  "(training.divergence.loss_bound) for {} steps: the networks no longer learn; "
                  "lower the learning rates, or add a penalty (training.r1)",
                  step, networks_[network].name, loss, bound, beyond)};
}

std::optional<Trouble> TroubleWatch::step_figures(std::int64_t step,
                                                  const std::map<std::string, double>& figures) {
  std::optional<Trouble> trouble;
  for (std::size_t i = 0; spec_.diversity > 0.0 && i < seen_.size(); ++i) {
    const auto made = figures.find(spread_figure(networks_[i].name, ExampleOrigin::kGenerated));
    const auto real = figures.find(spread_figure(networks_[i].name, ExampleOrigin::kReal));
    if (made == figures.end() || real == figures.end()) {
      continue;
    }
    std::int64_t& alike = seen_[i].alike;
    alike = made->second < spec_.diversity * real->second ? alike + 1 : 0;
    if (!trouble && alike == spec_.diversity_steps) {
      trouble = Trouble{
          step,
          fmt::format(
              "step {}: the examples that the {} got differed {:.2g} times as much as real "
              "examples do, and for {} steps less than training.divergence.diversity {:g}: the "
              "generator repeats the same examples; lower its lr, or add a penalty (training.r1)",
              step, networks_[i].name, made->second / real->second, alike, spec_.diversity)};
    }
  }
  return trouble;
}

std::optional<Trouble> TroubleWatch::tick(std::int64_t step, std::span<const double> losses) {
  if (spec_.saturated_ticks == 0) {
    return std::nullopt;
  }
  std::optional<Trouble> trouble;
  for (std::size_t i = 0; i < std::min(losses.size(), seen_.size()); ++i) {
    if (!networks_[i].judges) {
      continue;
    }
    SeenFigures& seen = seen_[i];
    const double size = std::abs(losses[i]);
    seen.first = seen.first.value_or(size);
    seen.saturated = size < kSaturated * *seen.first ? seen.saturated + 1 : 0;
    if (!trouble && seen.saturated == spec_.saturated_ticks) {
      trouble = Trouble{
          step, fmt::format("step {}: the {}'s loss has been below {:.0e} of its first, {:.4g}, "
                            "for {} ticks: the other network no longer learns from it; lower its "
                            "lr, or add a penalty (training.r1)",
                            step, networks_[i].name, kSaturated, *seen.first, seen.saturated)};
    }
  }
  return trouble;
}

}  // namespace gangway::coordinator
