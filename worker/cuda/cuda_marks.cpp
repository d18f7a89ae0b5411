// SPDX-License-Identifier: MIT
#include "worker/cuda/cuda_marks.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "worker/cuda/cuda_calls.hpp"

namespace gangway::worker {

using comm::check;

namespace {

constexpr const char* kLookingAtMark = "looking at a mark";

}  // namespace

void CudaMarks::record() {
  if (spare_.empty()) {
    spare_.push_back(comm::make_timed_event());
  }
  check(cudaEventRecord(spare_.back().get(), stream_), "marking");
  open_.events.push_back(std::move(spare_.back()));
  spare_.pop_back();
}

void CudaMarks::mark(std::size_t tag) {
  if (comm::is_capturing(stream_)) {
    return;  // events in graphs have no time
  }
  const bool was_starved = !open_.events.empty() && has_come(open_.events.back(), kLookingAtMark);
  record();
  open_.stretches.push_back({.tag = tag, .was_starved = was_starved});
}

void CudaMarks::end() {
  if (open_.stretches.empty() || comm::is_capturing(stream_)) {
    return;
  }
  record();
  ended_.push_back(std::exchange(open_, {}));
}

std::optional<std::vector<DeviceStretch>> CudaMarks::take() {
  if (ended_.empty() || !has_come(ended_.front().events.back(), kLookingAtMark)) {
    return std::nullopt;
  }
  Series series = std::move(ended_.front());
  ended_.pop_front();
  for (std::size_t i = 0; i < series.stretches.size(); ++i) {
    float milliseconds = 0.0F;
    check(cudaEventElapsedTime(&milliseconds, series.events[i].get(), series.events[i + 1].get()),
          "reading a mark");
    series.stretches[i].seconds = static_cast<double>(milliseconds) / 1e3;
  }
  std::ranges::move(series.events, std::back_inserter(spare_));
  return std::move(series.stretches);
}

}  // namespace gangway::worker
