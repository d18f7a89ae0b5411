// SPDX-License-Identifier: MIT
// What `gangway scale` makes of its measurements: fits and tables. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace gangway::launch {

enum class ScalingKind {
  kStrong,  ///< one job, whatever the number of workers
  kWeak,    ///< as many micro-batches more as workers
};

/// A number of workers.
struct ScaleRow {
  int workers = 1;
  double images_per_step = 0.0;
  std::vector<double> steps;     ///< seconds, one a round
  std::vector<double> ceilings;  ///< the same of as many processes that know nothing of one another
  std::optional<double> predicted;  ///< seconds
};

/// seconds = fixed + shared / workers (strong: Amdahl, 1967), or fixed + more * (workers - 1)
/// (weak), with the smallest squares of relative errors.
struct ScalingFit {
  double fixed = 0.0;
  double varying = 0.0;  ///< shared, or more
  [[nodiscard]] double seconds(ScalingKind kind, int workers) const;
  /// Share of one worker's step that more workers do not make shorter.
  [[nodiscard]] double serial_share() const;
};

/// @pre a row at least. With one row all is fixed.
[[nodiscard]] ScalingFit fit_scaling(ScalingKind kind, const std::vector<ScaleRow>& rows);

/// Half the largest difference of rounds, of their median.
[[nodiscard]] double scatter_of(const std::vector<double>& seconds);
[[nodiscard]] double median_of(std::vector<double> seconds);

/// A row a number of workers, and the fit below. Each line ended.
[[nodiscard]] std::string scale_text(ScalingKind kind, const std::vector<ScaleRow>& rows);

}  // namespace gangway::launch
