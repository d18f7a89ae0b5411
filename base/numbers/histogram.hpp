// SPDX-License-Identifier: MIT
// Counts values in fixed buckets, equal on all workers, so that workers' histograms can be added.
// Workers count; the coordinator adds the counts and writes them. Pure; one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

namespace gangway {

/// A histogram as a message carries it: without empty buckets.
struct HistogramCounts {
  std::vector<int> buckets;          ///< indices of the buckets that are not empty, ascending
  std::vector<std::int64_t> counts;  ///< values in each bucket of `buckets`
  double least = 0.0;                ///< least value counted; 0 if there is none, like `most`
  double most = 0.0;
  double sum = 0.0;
  double sum_of_squares = 0.0;
  static auto fields(auto& it) {
    return std::tie(it.buckets, it.counts, it.least, it.most, it.sum, it.sum_of_squares);
  }
  bool operator==(const HistogramCounts&) const = default;
};

/// Has four buckets per octave from 2^-40 to 2^40 for either sign, and one for smaller magnitudes.
/// The outermost buckets also count larger values and infinities. NaNs are not counted.
class Histogram {
 public:
  static constexpr int kLowestOctave = -40;
  static constexpr int kOctaves = 80;
  static constexpr int kBucketsPerSide = 4 * kOctaves;
  static constexpr int kBuckets = 2 * kBucketsPerSide + 1;

  void add(std::span<const float> values);
  void add(const HistogramCounts& more);
  [[nodiscard]] HistogramCounts counts() const;

  /// Returns the bucket's index. @pre `value` is not a NaN
  [[nodiscard]] static int bucket_of(float value);
  /// Returns the value at which `bucket` ends and the next bucket begins.
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
