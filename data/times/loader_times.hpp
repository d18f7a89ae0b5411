// SPDX-License-Identifier: MIT
// Counts the time of reading examples. The reading threads write; any thread may read meanwhile and
// use the difference of two reads.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace gangway::data {

/// Time of decoding pictures, part of reading examples.
struct DecodeTimes {
  double decode = 0.0;     ///< seconds, of all threads together
  double fit = 0.0;        ///< seconds: crop and resize
  std::int64_t bytes = 0;  ///< of encoded pictures
  friend DecodeTimes operator+(const DecodeTimes& a, const DecodeTimes& b) {
    return {a.decode + b.decode, a.fit + b.fit, a.bytes + b.bytes};
  }
};

/// Seconds are sums over all threads of the loader; together they cover all time but waiting for
/// locks.
struct LoaderTimes {
  double read = 0.0;        ///< from disk, cache or memory, without the parts below
  double decode = 0.0;      ///< pictures, from their files' bytes
  double fit = 0.0;         ///< crop and resize
  double augment = 0.0;     ///< mirror, data.crop and the like
  double pack = 0.0;        ///< packing for a device
  double no_room = 0.0;     ///< waiting because data.prefetch batches are ready
  std::int64_t images = 0;  ///< examples
  std::int64_t bytes = 0;   ///< of encoded pictures
  std::int64_t asked = 0;   ///< calls of Loader::next
  std::int64_t ready = 0;   ///< sum of batches ready at those calls
};

/// Measures the time between laps.
class Laps {
 public:
  [[nodiscard]] std::int64_t lap_ns() {
    const auto now = std::chrono::steady_clock::now();
    const auto passed = std::chrono::duration_cast<std::chrono::nanoseconds>(now - last_);
    last_ = now;
    return passed.count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

/// A counter that several threads add to; memory order relaxed.
class Tally {
 public:
  void add(std::int64_t value) { value_.fetch_add(value, std::memory_order_relaxed); }
  [[nodiscard]] std::int64_t sum() const { return value_.load(std::memory_order_relaxed); }
  /// Returns the sum of nanoseconds as seconds.
  [[nodiscard]] double seconds() const { return static_cast<double>(sum()) * 1e-9; }

 private:
  std::atomic<std::int64_t> value_ = 0;
};

/// Counters of a data set that decodes pictures.
struct DecodeLedger {
  Tally decode_ns;
  Tally fit_ns;
  Tally bytes;
  [[nodiscard]] DecodeTimes times() const {
    return {decode_ns.seconds(), fit_ns.seconds(), bytes.sum()};
  }
};

/// Counters of a loader.
struct LoaderLedger {
  Tally example_ns;  ///< read, decode and fit
  Tally augment_ns;
  Tally pack_ns;
  Tally no_room_ns;
  Tally images;
  Tally asked;
  Tally ready;
  /// @param decoding  times of its data set since the loader began
  [[nodiscard]] LoaderTimes times(const DecodeTimes& decoding) const {
    return {.read = std::max(0.0, example_ns.seconds() - decoding.decode - decoding.fit),
            .decode = decoding.decode,
            .fit = decoding.fit,
            .augment = augment_ns.seconds(),
            .pack = pack_ns.seconds(),
            .no_room = no_room_ns.seconds(),
            .images = images.sum(),
            .bytes = decoding.bytes,
            .asked = asked.sum(),
            .ready = ready.sum()};
  }
};

}  // namespace gangway::data
