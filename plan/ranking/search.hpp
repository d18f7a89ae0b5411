// SPDX-License-Identifier: MIT
// Searches the best layouts of a job on a cluster. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "plan/predict.hpp"

namespace gangway::plan {

struct Search {
  std::vector<Prediction> ranking;  ///< layouts that fit before the others, then fastest first
  std::size_t simulated = 0;
  std::size_t pruned = 0;    ///< not simulated: they cannot enter the ranking
  std::size_t left_out = 0;  ///< not simulated: unequal rows of too many workers
};

enum class Shapes {
  kWhole,  ///< data-parallel layouts only
  kAll,    ///< also networks apart and stages, as far as the job's rules allow
};

struct SearchOptions {
  std::size_t rows = 10;  ///< of the ranking
  int workers = 0;        ///< 0: any number
  Shapes shapes = Shapes::kWhole;
};

/// Ranks the layouts of a job. @throws ConfigError if `workers` exceeds the devices of the cluster
/// or the micro-batches of the job
[[nodiscard]] Search search_layouts(const PlanInput& input, const SearchOptions& options);

/// Says why `other` is behind `best`: "wire +12 %", "does not fit: 9.1 of 8.0 GiB".
[[nodiscard]] std::string why_behind(const Prediction& other, const Prediction& best);

}  // namespace gangway::plan
