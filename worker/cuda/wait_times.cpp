// SPDX-License-Identifier: MIT
#include "worker/cuda/wait_times.hpp"

#include <utility>

#include "worker/cuda/cuda_calls.hpp"

namespace gangway::worker {

using comm::check;

void WaitTimes::begin(int phase, cudaStream_t stream) {
  Series series;
  if (spare_.empty()) {
    for (std::size_t i = 0; i <= num_buckets_; ++i) {
      series.events.push_back(comm::make_timed_event());
    }
  } else {
    series = std::move(spare_.back());
    spare_.pop_back();
  }
  series.phase = phase;
  series.marked = 0;
  check(cudaEventRecord(series.events.front().get(), stream), "timing an exchange");
  open_.push_back(std::move(series));
}

void WaitTimes::mark(cudaStream_t stream) {
  Series& series = open_.back();
  check(cudaEventRecord(series.events[++series.marked].get(), stream), "timing an exchange");
}

std::vector<Exposure> WaitTimes::take() {
  std::vector<Exposure> exposures;
  while (!open_.empty() && open_.front().marked == num_buckets_) {
    Series& series = open_.front();
    if (!has_come(series.events.back(), "timing an exchange")) {
      break;
    }
    Exposure& exposure = exposures.emplace_back(Exposure{.phase = series.phase});
    for (std::size_t bucket = 0; bucket < num_buckets_; ++bucket) {
      float milliseconds = 0.0F;
      check(cudaEventElapsedTime(&milliseconds, series.events[bucket].get(),
                                 series.events[bucket + 1].get()),
            "timing an exchange");
      exposure.by_bucket.push_back(static_cast<double>(milliseconds) / 1e3);
      exposure.seconds += exposure.by_bucket.back();
    }
    spare_.push_back(std::move(series));
    open_.pop_front();
  }
  return exposures;
}

}  // namespace gangway::worker
