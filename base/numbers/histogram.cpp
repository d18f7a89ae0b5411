// SPDX-License-Identifier: MIT
#include "base/numbers/histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

namespace gangway {
namespace {

constexpr std::uint32_t kSignBit = 0x80000000U;
/// Bits below the exponent and the significand's first two bits, which give four cells per octave.
constexpr std::uint32_t kBitsBelowCell = 21;
constexpr int kExponentBias = 127;
constexpr int kFirstCell = 4 * (kExponentBias + Histogram::kLowestOctave);

/// Returns the lower limit of bucket `index` (0 is nearest to zero) of the positive side.
double edge(int index) {
  const auto bits = static_cast<std::uint32_t>(kFirstCell + index) << kBitsBelowCell;
  return std::bit_cast<float>(bits);
}

}  // namespace

int Histogram::bucket_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const int cell = static_cast<int>((bits & ~kSignBit) >> kBitsBelowCell) - kFirstCell;
  // Index away from zero, from 1; 0: the bucket for small magnitudes.
  const int outwards = std::clamp(cell + 1, 0, kBucketsPerSide);
  return (bits & kSignBit) != 0 ? kBucketsPerSide - outwards : kBucketsPerSide + outwards;
}

double Histogram::upper_limit(int bucket) {
  const int outwards = bucket - kBucketsPerSide;
  return outwards >= 0 ? edge(outwards) : -edge(-outwards - 1);
}

void Histogram::widen(double least, double most) {
  least_ = is_empty_ ? least : std::min(least_, least);
  most_ = is_empty_ ? most : std::max(most_, most);
  is_empty_ = false;
}

void Histogram::add(std::span<const float> values) {
  for (const float value : values) {
    if (std::isnan(value)) {
      continue;
    }
    ++counts_[static_cast<std::size_t>(bucket_of(value))];
    widen(value, value);
    sum_ += value;
    sum_of_squares_ += static_cast<double>(value) * value;
  }
}

void Histogram::add(const HistogramCounts& more) {
  if (more.buckets.empty()) {
    return;
  }
  for (std::size_t i = 0; i < more.buckets.size(); ++i) {
    counts_[static_cast<std::size_t>(more.buckets[i])] += more.counts[i];
  }
  widen(more.least, more.most);
  sum_ += more.sum;
  sum_of_squares_ += more.sum_of_squares;
}

HistogramCounts Histogram::counts() const {
  HistogramCounts found{
      .least = least_, .most = most_, .sum = sum_, .sum_of_squares = sum_of_squares_};
  for (int bucket = 0; bucket < kBuckets; ++bucket) {
    if (const std::int64_t count = counts_[static_cast<std::size_t>(bucket)]; count > 0) {
      found.buckets.push_back(bucket);
      found.counts.push_back(count);
    }
  }
  return found;
}

}  // namespace gangway
