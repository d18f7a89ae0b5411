// SPDX-License-Identifier: MIT
#include "job/spec.hpp"

#include <algorithm>
#include <cmath>

#include "job/models/families.hpp"

namespace gangway {

ModelSpec JobSpec::settled_model() const {
  ModelSpec settled = model;
  if (settled.normalization == Normalization::kAuto) {
    // A penalty on the gradient of one example means nothing when BatchNorm mixes the examples
    // (Gulrajani et al., 2017, section 4).
    settled.normalization = model.family->normalizes_by_default && !training.penalty.is_any()
                                ? Normalization::kBatch
                                : Normalization::kNone;
  }
  return settled;
}

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
