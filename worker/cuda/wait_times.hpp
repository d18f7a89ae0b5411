// SPDX-License-Identifier: MIT
// Measures how long a device's compute stream waits for each bucket of an exchange, by events on
// the stream. Reads an event once it has occurred. Compute thread; never waits.
#pragma once

#include <deque>
#include <vector>

#include "comm/cuda/cuda_handles.hpp"
#include "worker/step/network_exchange.hpp"

namespace gangway::worker {

class WaitTimes {
 public:
  explicit WaitTimes(std::size_t num_buckets) : num_buckets_(num_buckets) {}

  /// Marks that the stream is about to wait for the exchange of `phase`.
  void begin(int phase, cudaStream_t stream);
  /// Marks the end of the wait for the next bucket.
  void mark(cudaStream_t stream);
  /// Returns the finished waits, oldest first; each once.
  [[nodiscard]] std::vector<Exposure> take();

 private:
  struct Series {
    int phase = 0;
    std::size_t marked = 0;
    std::vector<comm::CudaEvent> events;  // one before the first bucket, one after each
  };
  std::size_t num_buckets_;
  std::deque<Series> open_;
  std::vector<Series> spare_;
};

}  // namespace gangway::worker
