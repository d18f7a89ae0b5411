// SPDX-License-Identifier: MIT
#include "job/models/growth_schedule.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "job/blocks/progressive/growth.hpp"

namespace gangway {
namespace {

/// Returns the doublings of 4 pixels that give `side`.
int doublings(int side) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(side / kFirstSide))) - 1;
}

std::int64_t images_of_kimg(double kimg) {
  return static_cast<std::int64_t>(std::llround(1000.0 * kimg));
}

}  // namespace

double growth_level(const GrowthSpec& growth, int resolution, std::int64_t images) {
  const int last = doublings(resolution);
  if (images >= fully_grown_images(growth, resolution)) {
    return last;
  }
  // In whole images: only the one division rounds.
  const std::int64_t kept = images_of_kimg(growth.kimg);
  const std::int64_t fade = images_of_kimg(growth.fade_kimg);
  const std::int64_t steps = images / (kept + fade);
  const std::int64_t faded = std::max<std::int64_t>(0, images % (kept + fade) - kept);
  const double share = faded > 0 ? static_cast<double>(faded) / static_cast<double>(fade) : 0.0;
  return static_cast<double>(doublings(growth.from) + steps) + share;
}

std::int64_t fully_grown_images(const GrowthSpec& growth, int resolution) {
  const int steps = std::max(0, doublings(resolution) - doublings(growth.from));
  return steps * (images_of_kimg(growth.kimg) + images_of_kimg(growth.fade_kimg));
}

}  // namespace gangway
