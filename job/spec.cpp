// SPDX-License-Identifier: MIT
#include "job/spec.hpp"

#include <algorithm>
#include <cmath>

namespace gangway {

std::int64_t JobSpec::total_steps() const {
  return static_cast<std::int64_t>(
      std::ceil(training.kimg * 1000.0 / static_cast<double>(images_per_step())));
}

std::int64_t JobSpec::steps_of_kimg(double kimg) const {
  if (kimg <= 0.0) {
    return 0;
  }
  const double steps = std::round(kimg * 1000.0 / static_cast<double>(images_per_step()));
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(steps));
}

}  // namespace gangway
