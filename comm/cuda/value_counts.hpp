// SPDX-License-Identifier: MIT
// Counts values on a device by the buckets of base/numbers/histogram.hpp. Included by .cpp and .cu
// files.
#pragma once

#include <cstdint>

#include "comm/cuda/update_arithmetic.hpp"

namespace gangway::comm {

/// A histogram with its sums; zeroed memory is the empty histogram.
struct ValueCounts {
  static constexpr int kLowestOctave = -40;
  static constexpr int kBucketsPerSide = 4 * 80;
  static constexpr int kBuckets = 2 * kBucketsPerSide + 1;

  unsigned int counts[kBuckets];  // NOLINT(modernize-avoid-c-arrays): for device code
  unsigned int total;
  float least;  ///< smallest value counted
  float most;
  double sum;
  double sum_of_squares;
};

/// Returns the bucket of a value, as Histogram::bucket_of does. @pre `value` is not a NaN
GANGWAY_HOST_DEVICE inline int bucket_of(float value) {
  constexpr std::uint32_t kSignBit = 0x80000000U;
  constexpr int kFirstCell = 4 * (127 + ValueCounts::kLowestOctave);
  const std::uint32_t bits = bits_of(value);
  int outwards = static_cast<int>((bits & ~kSignBit) >> 21U) - kFirstCell + 1;
  outwards = outwards < 0 ? 0 : outwards;
  outwards = outwards > ValueCounts::kBucketsPerSide ? ValueCounts::kBucketsPerSide : outwards;
  return (bits & kSignBit) != 0 ? ValueCounts::kBucketsPerSide - outwards
                                : ValueCounts::kBucketsPerSide + outwards;
}

}  // namespace gangway::comm
