// SPDX-License-Identifier: MIT
// A small job for tests of the reduction on GPUs: gradients that depend only on update and
// micro-batch, and the results of a plain host computation.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "comm/arena/tree_sum.hpp"
#include "comm/cuda/compile_sum.hpp"
#include "comm/cuda/slice_update.hpp"
#include "tests/comm/toy_job.hpp"

namespace gangway::comm {

struct GpuJob {
  int num_microbatches = 4;
  int num_updates = 3;
  double clip_norm = 0.0;
};

/// Returns the gradient of `microbatch` in `update`, counted from 1.
inline std::vector<float> leaf_gradient(const ArenaLayout& layout, int update, int microbatch) {
  std::vector<float> gradient(layout.size());
  const auto turn =
      static_cast<std::uint64_t>(update) * 1'009U + static_cast<std::uint64_t>(microbatch);
  for (const auto* entries : {&layout.parameters(), &layout.statistics()}) {
    for (const ArenaEntry& entry : *entries) {
      for (std::size_t i = entry.offset; i < entry.offset + entry.elements; ++i) {
        gradient[i] = scattered((turn << 32U) + i);
      }
    }
  }
  return gradient;
}

/// Returns the sum of the leaves of `subtree` in tree order, as a worker's accumulation does.
inline std::vector<float> partial_gradient(const ArenaLayout& layout, int update,
                                           MicrobatchRange subtree) {
  std::vector<std::vector<float>> leaves;
  std::vector<TreeSummand> summands;
  leaves.reserve(static_cast<std::size_t>(subtree.size()));
  for (int m = subtree.begin; m < subtree.end; ++m) {
    leaves.push_back(leaf_gradient(layout, update, m));
    summands.push_back({{m, m + 1}, leaves.back().data()});
  }
  std::vector<float> sum(layout.size());
  tree_sum(summands, subtree, 1.0F, sum);
  return sum;
}

inline std::vector<float> initial_weights(const ArenaLayout& layout) {
  std::vector<float> weights(layout.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    weights[i] = scattered(i + 17U);
  }
  return weights;
}

/// Returns the constants of one update; they differ between updates.
inline UpdateConstants constants_of(int update) {
  return update_constants({.settings = {.lr = 1e-3 / update, .betas = {0.5, 0.99}},
                           .counts = {.updates = update - 1},
                           .harvests = 1,
                           .average_decay = 0.9},
                          0.1);
}

/// Results of one host without a transport.
struct GpuJobResult {
  std::vector<float> weights, first, second, average;
  double squared_norm = 0.0;  ///< of the last update's mean gradient, if the job clips

  GpuJobResult(const ArenaLayout& layout, const GpuJob& job)
      : weights(initial_weights(layout)),
        first(layout.size()),
        second(layout.size()),
        average(weights) {
    for (int update = 1; update <= job.num_updates; ++update) {
      std::vector<float> mean = partial_gradient(layout, update, {0, job.num_microbatches});
      for (float& value : mean) {
        value *= 1.0F / static_cast<float>(job.num_microbatches);
      }
      step(layout, job, update, mean);
    }
  }

 private:
  void step(const ArenaLayout& layout, const GpuJob& job, int update,
            const std::vector<float>& mean) {
    float clip = 1.0F;
    if (job.clip_norm > 0.0) {
      std::vector<double> squares(layout.parameter_range().size() / kBlockElements);
      for (std::size_t block = 0; block < squares.size(); ++block) {
        squares[block] = block_sum_of_squares(mean.data() + block * kBlockElements);
      }
      squared_norm = pairwise_sum(squares);
      clip = static_cast<float>(std::min(1.0, job.clip_norm / (std::sqrt(squared_norm) + 1e-6)));
    }
    const UpdateConstants constants = constants_of(update);
    SliceUpdate slice{
        .program = running_sum_program(1),
        .elements = static_cast<std::int64_t>(layout.size()),
        .parameter_elements = static_cast<std::int64_t>(layout.parameter_range().size()),
        .clip_scale = &clip,
        .constants = &constants,
        .weights = weights.data(),
        .moments = {first.data(), second.data()},
        .average = average.data()};
    slice.summands.values[0] = mean.data();
    update_slice_on_host(slice);
  }
};

}  // namespace gangway::comm
