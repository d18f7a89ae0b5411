// SPDX-License-Identifier: MIT
// The kernels of comm/cuda as plain host code, with update_slice_on_host. Tests compare the kernels
// with them, and the stand-in for CUDA runs them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "comm/arena/tree_sum.hpp"
#include "comm/cuda/slice_element.hpp"
#include "comm/cuda/value_counts.hpp"

namespace gangway::comm {

inline void sum_slice_on_host(const SliceSum& sum) {
  std::array<float, kMaxSumDepth> waiting;
  for (std::int64_t i = 0; i < sum.elements; ++i) {
    const auto summand = [&](int s) {
      return load_element(sum.summands.values[s], sum.summands.types[s], i);
    };
    sum.out[i] = run_sum_program<float>(sum.program, summand, waiting.data(), 1) * sum.scale;
  }
}

inline void mean_on_host(const SliceUpdate& update, float* out) {
  sum_slice_on_host({.program = update.program,
                     .summands = update.summands,
                     .elements = update.elements,
                     .scale = update.scale,
                     .out = out});
  for (std::int64_t i = 0; update.clip_scale != nullptr && i < update.parameter_elements; ++i) {
    out[i] *= *update.clip_scale;
  }
}

inline void decide_clip_on_host(const ClipDecision& decision) {
  *decision.squared_norm =
      pairwise_sum({decision.squares, static_cast<std::size_t>(decision.num_blocks)});
  *decision.clip_scale =
      clip_factor(*decision.squared_norm, decision.clip_norm,
                  decision.constants == nullptr ? 1.0 : decision.constants->unscale);
  if (decision.is_skipped != nullptr) {
    *decision.is_skipped = std::isfinite(*decision.squared_norm) ? 0 : 1;
  }
}

inline void encode_on_host(const WireEncoding& encoding) {
  auto* const out = static_cast<std::uint16_t*>(encoding.out);
  for (std::int64_t i = 0; i < encoding.elements; ++i) {
    out[i] = encode_element(encoding.values[i],
                            encoding.residual == nullptr ? nullptr : encoding.residual + i,
                            encoding.type);
  }
}

/// Adds the sums in another order than launch_count.
inline void count_on_host(const float* values, std::int64_t elements, ValueCounts& counts) {
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
