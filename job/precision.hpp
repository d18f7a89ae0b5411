// SPDX-License-Identifier: MIT
// In which numbers a network computes while it is trained (numerics.precision, docs/training.md).
// Its weights, gradients and moments are float32 in any of them. Pure.
#pragma once

namespace gangway {

enum class Precision {
  kFp32,
  kTf32,  ///< float32 whose products a GPU rounds to 10 bits of significand
  kBf16,
  kFp16,
  kAuto,  ///< what the machine is fast in; replaced before a run (job/file/settle_precision.hpp)
};

/// Whether tensors within the network have two bytes an element.
[[nodiscard]] constexpr bool is_half_size(Precision precision) {
  return precision == Precision::kBf16 || precision == Precision::kFp16;
}

}  // namespace gangway
