// SPDX-License-Identifier: MIT
// How the half-life of an average grows with the training. Pure.
#pragma once

namespace gangway {

/// By how little of the past an average begins: what its half-life may be at most.
struct RampUp {
  enum class Kind {
    kHistory,  ///< n updates have at most the decay (1 + n) / (10 + n) (TensorFlow's)
    kNone,     ///< nothing bounds it
    kShare,    ///< at most `share` of the images so far (StyleGAN2's)
  };
  Kind kind = Kind::kHistory;
  double share = 0.0;
  bool operator==(const RampUp&) const = default;
};

}  // namespace gangway
