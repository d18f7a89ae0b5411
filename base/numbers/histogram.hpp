// SPDX-License-Identifier: MIT
// How often values come to lie where, by buckets that are the same everywhere, so that counts of
// parts add up to those of the whole. Workers count, the coordinator adds and writes. Pure; one
// thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

namespace gangway {

/// A histogram that travels: only what is in it.
struct HistogramCounts {
  std::vector<int> buckets;          ///< those that are not empty, ascending
  std::vector<std::int64_t> counts;  ///< of each of them
  double least = 0.0;                ///< of the values counted; both 0 where there are none
  double most = 0.0;
  double sum = 0.0;
  double sum_of_squares = 0.0;
  static auto fields(auto& it) {
    return std::tie(it.buckets, it.counts, it.least, it.most, it.sum, it.sum_of_squares);
  }
  bool operator==(const HistogramCounts&) const = default;
};

/// Four buckets an octave from 2^-40 to 2^40 on either side, and one between for what is smaller.
/// What is larger, infinities too, is in the outermost ones; NaNs are not counted.
class Histogram {
 public:
  static constexpr int kLowestOctave = -40;
  static constexpr int kOctaves = 80;
  static constexpr int kBucketsPerSide = 4 * kOctaves;
  static constexpr int kBuckets = 2 * kBucketsPerSide + 1;

  void add(std::span<const float> values);
  void add(const HistogramCounts& more);
  [[nodiscard]] HistogramCounts counts() const;

  /// Of a number that is not a NaN.
  [[nodiscard]] static int bucket_of(float value);
  /// Where `bucket` ends, and the next one begins.
  [[nodiscard]] static double upper_limit(int bucket);

 private:
  void widen(double least, double most);

  std::array<std::int64_t, kBuckets> counts_{};
  bool is_empty_ = true;
  double least_ = 0.0;
  double most_ = 0.0;
  double sum_ = 0.0;
  double sum_of_squares_ = 0.0;
};

}  // namespace gangway
