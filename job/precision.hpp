// SPDX-License-Identifier: MIT
// Number format in which a network computes in training (numerics.precision, docs/training.md).
// Weights, gradients and moments are always float32. Pure.
#pragma once

namespace gangway {

enum class Precision {
  kFp32,
  kTf32,  ///< float32 whose products a GPU rounds to 10 bits of significand
  kBf16,
  kFp16,
  kAuto,  ///< the machine's fastest; replaced before a run (job/devices/settle_device.hpp)
};

/// Returns whether tensors within the network have two bytes per element.
[[nodiscard]] constexpr bool is_half_size(Precision precision) {
  return precision == Precision::kBf16 || precision == Precision::kFp16;
}

}  // namespace gangway
