// SPDX-License-Identifier: MIT
// The best layouts of a job on a cluster. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "plan/predict.hpp"

namespace gangway::plan {

struct Search {
  std::vector<Prediction> ranking;  ///< fastest first; those that fit before those that do not
  std::size_t simulated = 0;
  std::size_t pruned = 0;    ///< which could not be among the first
  std::size_t left_out = 0;  ///< not simulated: rows that are not alike, of many workers
};

enum class Shapes {
  kWhole,  ///< data parallel alone
  kAll,    ///< networks apart and stages too, as far as the job's rules allow them
};

struct SearchOptions {
  std::size_t rows = 10;  ///< of the ranking
  int workers = 0;        ///< 0: any number
  Shapes shapes = Shapes::kWhole;
};

/// @throws ConfigError where the cluster has fewer devices than `workers`, or the job fewer
/// micro-batches
[[nodiscard]] Search search_layouts(const PlanInput& input, const SearchOptions& options);

/// Why `other` is behind `best`, in a few words: "wire +12 %", "does not fit: 9.1 of 8.0 GiB".
[[nodiscard]] std::string why_behind(const Prediction& other, const Prediction& best);

}  // namespace gangway::plan
