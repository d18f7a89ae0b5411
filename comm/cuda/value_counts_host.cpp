// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "base/numbers/histogram.hpp"
#include "comm/cuda/value_counts.hpp"

namespace gangway::comm {

static_assert(ValueCounts::kLowestOctave == Histogram::kLowestOctave);
static_assert(ValueCounts::kBuckets == Histogram::kBuckets);

void count_on_host(const float* values, std::int64_t elements, ValueCounts& counts) {
  for (std::int64_t i = 0; i < elements; ++i) {
    const float value = values[i];
    if (std::isnan(value)) {
      continue;
    }
    ++counts.counts[bucket_of(value)];
    counts.least = counts.total == 0 ? value : std::min(counts.least, value);
    counts.most = counts.total == 0 ? value : std::max(counts.most, value);
    counts.sum += value;
    counts.sum_of_squares += static_cast<double>(value) * value;
    ++counts.total;
  }
}

}  // namespace gangway::comm
