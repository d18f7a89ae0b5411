// SPDX-License-Identifier: MIT
// Initial values of a network's maps, if the job overrides the family's. Applied by
// gan/initialization.hpp. Pure.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

#include "job/blocks/initial_deviation.hpp"

namespace gangway {

enum class InitializationKind {
  kFamily,      ///< as in the family's blocks
  kNormal,      ///< with standard deviation `deviation`
  kXavier,      ///< normal, Glorot and Bengio, 2010, eq. 12
  kHe,          ///< normal, He et al., 2015, eq. 10
  kOrthogonal,  ///< Saxe et al., 2014
};

struct InitializationSpec {
  InitializationKind kind = InitializationKind::kFamily;
  double deviation = 0.02;  ///< of kNormal
  double gain = 1.0;        ///< factor, of all kinds but kNormal
  bool operator==(const InitializationSpec&) const = default;
};

/// Fan-in and fan-out as in torch.nn.init: inputs per output and outputs per input, with all pixels
/// of a kernel. A transposed convolution has them swapped.
struct Fans {
  std::int64_t in = 1;
  std::int64_t out = 1;
};

/// @param shape  [out, in, …] of a map; [in, out, …] of a transposed convolution
[[nodiscard]] inline Fans fans_of(std::span<const std::int64_t> shape) {
  std::int64_t pixels = 1;
  for (const std::int64_t side : shape.subspan(2)) {
    pixels *= side;
  }
  return {shape[1] * pixels, shape[0] * pixels};
}

/// Returns the standard deviation of a map's weights; for orthogonal weights the length of a row.
/// @pre the kind is not kFamily
[[nodiscard]] inline double initial_scale_of(const InitializationSpec& spec,
                                             std::span<const std::int64_t> shape) {
  const Fans fans = fans_of(shape);
  switch (spec.kind) {
    case InitializationKind::kXavier:
      return balanced_deviation(spec.gain, fans.in, fans.out);
    case InitializationKind::kHe:
      return deviation(spec.gain * std::sqrt(2.0), fans.in);
    case InitializationKind::kOrthogonal:
      return spec.gain;
    case InitializationKind::kNormal:
    case InitializationKind::kFamily:
      break;
  }
  return spec.deviation;
}

}  // namespace gangway
