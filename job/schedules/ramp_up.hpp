// SPDX-License-Identifier: MIT
// Limit on the half-life of a weight average early in training. Pure.
#pragma once

namespace gangway {

/// Limit on an average's half-life, so that early averages forget the first weights.
struct RampUp {
  enum class Kind {
    kHistory,  ///< the decay after n updates is at most (1 + n) / (10 + n) (TensorFlow's)
    kNone,     ///< no limit
    kShare,    ///< at most `share` of the images so far (StyleGAN2's)
  };
  Kind kind = Kind::kHistory;
  double share = 0.0;
  bool operator==(const RampUp&) const = default;
};

}  // namespace gangway
