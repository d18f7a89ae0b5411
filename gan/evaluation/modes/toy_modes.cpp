// SPDX-License-Identifier: MIT
#include "gan/evaluation/modes/toy_modes.hpp"

#include <algorithm>
#include <vector>

namespace gangway::gan {
namespace {

constexpr double kGoodSigmas = 3.0;
constexpr double kCoveredShare = 0.01;  // of the mode's fair share

double squared_distance(const std::array<float, 2>& centre, std::span<const float, 2> point) {
  const double x = static_cast<double>(point[0]) - static_cast<double>(centre[0]);
  const double y = static_cast<double>(point[1]) - static_cast<double>(centre[1]);
  return x * x + y * y;
}

}  // namespace

ToyModes count_toy_modes(const data::ToyMixture& mixture, std::span<const float> points) {
  const double reach = kGoodSigmas * static_cast<double>(mixture.sigma);
  std::vector<std::int64_t> good(mixture.centres.size(), 0);
  for (std::size_t first = 0; first + 2 <= points.size(); first += 2) {
    const std::span<const float, 2> point(points.data() + first, 2);
    const auto nearest = std::ranges::min_element(
        mixture.centres, {},
        [&](const std::array<float, 2>& centre) { return squared_distance(centre, point); });
    if (squared_distance(*nearest, point) <= reach * reach) {
      ++good[static_cast<std::size_t>(nearest - mixture.centres.begin())];
    }
  }
  const std::size_t num_points = points.size() / 2;
  const auto samples = static_cast<double>(num_points);
  const double needed = std::max(1.0, kCoveredShare * samples / static_cast<double>(good.size()));
  std::int64_t total = 0;
  int covered = 0;
  for (const std::int64_t count : good) {
    total += count;
    covered += static_cast<double>(count) >= needed ? 1 : 0;
  }
  return {.modes = static_cast<int>(good.size()),
          .covered = covered,
          .good_share = samples > 0.0 ? static_cast<double>(total) / samples : 0.0};
}

}  // namespace gangway::gan
