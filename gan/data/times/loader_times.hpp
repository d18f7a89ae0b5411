// SPDX-License-Identifier: MIT
// Where the time of reading examples goes: counted by the threads that read, looked at by any other
// while they do. Differences of two looks are what counts.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace gangway::data {

/// What pictures take of reading an example.
struct DecodeTimes {
  double decode = 0.0;     ///< seconds, of all threads together
  double fit = 0.0;        ///< seconds: crop and resize
  std::int64_t bytes = 0;  ///< of encoded pictures
  friend DecodeTimes operator+(const DecodeTimes& a, const DecodeTimes& b) {
    return {a.decode + b.decode, a.fit + b.fit, a.bytes + b.bytes};
  }
};

/// Seconds are those of all the loader's threads together; each of a thread's is in one of them,
/// but for locks.
struct LoaderTimes {
  double read = 0.0;     ///< from the disk, the cache or memory: all of an example but what follows
  double decode = 0.0;   ///< pictures, from their files' bytes
  double fit = 0.0;      ///< crop and resize
  double augment = 0.0;  ///< mirror, data.crop and the like
  double pack = 0.0;     ///< for a device
  double no_room = 0.0;  ///< waiting, since data.prefetch batches are ready
  std::int64_t images = 0;  ///< examples
  std::int64_t bytes = 0;   ///< of encoded pictures
  std::int64_t asked = 0;   ///< calls of Loader::next
  std::int64_t ready = 0;   ///< batches that were ready at those calls, in all
};

/// Time from lap to lap.
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

/// A sum that several threads add to; nothing is ordered by it.
class Tally {
 public:
  void add(std::int64_t value) { value_.fetch_add(value, std::memory_order_relaxed); }
  [[nodiscard]] std::int64_t sum() const { return value_.load(std::memory_order_relaxed); }
  /// Of nanoseconds.
  [[nodiscard]] double seconds() const { return static_cast<double>(sum()) * 1e-9; }

 private:
  std::atomic<std::int64_t> value_ = 0;
};

/// Of a data set that decodes pictures.
struct DecodeLedger {
  Tally decode_ns;
  Tally fit_ns;
  Tally bytes;
  [[nodiscard]] DecodeTimes times() const {
    return {decode_ns.seconds(), fit_ns.seconds(), bytes.sum()};
  }
};

/// Of a loader.
struct LoaderLedger {
  Tally example_ns;  ///< read, decode and fit
  Tally augment_ns;
  Tally pack_ns;
  Tally no_room_ns;
  Tally images;
  Tally asked;
  Tally ready;
  /// @param decoding  of its data set, since the loader began
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
