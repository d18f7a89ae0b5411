// SPDX-License-Identifier: MIT
// Detects whether and how fast a run's memory grows from tick to tick. Called by AdviceTracker;
// pure.
#pragma once

#include <deque>

#include <nlohmann/json_fwd.hpp>

namespace gangway::report {

/// Measures memory that grows in every tick, not only during warm-up.
class MemoryGrowth {
 public:
  /// @param tick  a line of stats.jsonl; ignored if it has no memory figures
  void add(const nlohmann::json& tick);
  /// Returns the GiB per hour by which both the workers' memory and the use of the tightest limit
  /// grew in every part of the last ticks; 0 if they did not.
  [[nodiscard]] double gib_per_hour() const;

 private:
  struct Moment {
    double seconds = 0.0;
    double own_gib = 0.0;   ///< of all workers
    double used_gib = 0.0;  ///< of the tightest limit
  };
  std::deque<Moment> moments_;  ///< newest last
};

}  // namespace gangway::report
